"""The ranked answer to one question: what would make this job faster?

It is computed from the recorded evaluations of rules alone, so every front end shows the same.
"""

from collections.abc import Mapping, Sequence

from sonde.formats import format_factor
from sonde.records.advice import (
    PREDICTS,
    Advice,
    AdviceItem,
    Bottleneck,
    Gain,
    Remedy,
    SpeedLimit,
    best_first,
)
from sonde.records.finding import Episode, Evaluation, RuleStatus
from sonde.records.seen import Seen

MIN_SPEEDUP = 1.03  # a smaller gain is within the noise of a step's duration

_ABOUT_EQUAL = 1.1  # bounds this close are shown as one number
_MAX_REMEDIES = 2  # in the sentence
_MAX_PLACES = 8
_NO_TRAINING = "No training steps recorded, so there is no advice."
_NOTHING_RUN = "No rules were run. To run them: sonde check JOB"
_NOTHING_FOUND = "No change with a predictable speed-up found."
_NO_DATA_YET = "Not enough data for advice."


def advice_on(evaluations: Sequence[Evaluation], seen: Seen | None = None) -> Advice:
    """What would make a job faster, the largest predicted speed-up first.

    Args:
        evaluations: The evaluations of all rules, with causes linked.
        seen: What was recorded inside the job's processes; None if unknown.
    """
    if not evaluations:
        return Advice(_NOTHING_RUN)
    items = _items(evaluations)
    details = (*_limits(evaluations), *_missing(evaluations))
    if items:
        return Advice(_sentence(items[0]), items, details)
    if seen is not None and not seen.inside:
        return Advice(_NO_TRAINING, (), details)
    return Advice(_without_items(evaluations), (), details)


def gain_text(gain: Gain) -> str:
    """A predicted speed-up: 2.3× faster, 1.5× to 2.3× faster, up to 2.3× faster."""
    if gain.low < MIN_SPEEDUP:
        return f"up to {format_factor(gain.high)} faster"
    if gain.high <= _ABOUT_EQUAL * gain.low:
        return f"{format_factor(gain.speedup)} faster"
    return f"{format_factor(gain.low)} to {format_factor(gain.high)} faster"


def remedy_text(remedy: Remedy) -> str:
    """A remedy with its predicted speed-up."""
    return f"{remedy.title}: {gain_text(remedy.gain)}" if remedy.gain else remedy.title


def certainty_text(gain: Gain) -> str:
    """How a speed-up was predicted."""
    return f"{gain.basis.value.capitalize()}: {gain.reason}" if gain.reason else gain.basis.value


def _items(evaluations: Sequence[Evaluation]) -> tuple[AdviceItem, ...]:
    """One item per problem: findings with the same bottleneck, or linked as cause and effect."""
    episodes = {
        episode.id: episode
        for evaluation in evaluations
        for episode in evaluation.episodes
        if episode.is_open
    }
    items = [
        _item(group)
        for group in _groups(episodes)
        if any(episode.finding.improvement is not None for episode in group)
    ]
    useful = [item for item in items if item.speedup >= MIN_SPEEDUP or not _is_predicted(item)]
    return tuple(sorted(useful, key=lambda item: (-item.speedup, item.rule)))


def _groups(episodes: Mapping[str, Episode]) -> list[list[Episode]]:
    """Findings that share a bottleneck or of which one causes the other."""
    group_of: dict[str, list[str]] = {episode_id: [episode_id] for episode_id in episodes}

    def join(first: str, second: str) -> None:
        if group_of[first] is not group_of[second]:
            group_of[first] += group_of[second]
            for member in group_of[second]:
                group_of[member] = group_of[first]

    first_of: dict[Bottleneck, str] = {}
    for episode in episodes.values():
        cause, improvement = episode.finding.cause, episode.finding.improvement
        if cause is not None and cause in episodes:
            join(cause, episode.id)
        if improvement is not None:
            join(first_of.setdefault(improvement.bottleneck, episode.id), episode.id)
    distinct = {id(group): group for group in group_of.values()}
    return [[episodes[episode_id] for episode_id in group] for group in distinct.values()]


def _item(episodes: Sequence[Episode]) -> AdviceItem:
    ordered = sorted(episodes, key=_importance)
    improvements = [each.finding.improvement for each in ordered if each.finding.improvement]
    remedies = {
        remedy.title: remedy
        for improvement in reversed(improvements)
        for remedy in improvement.remedies
    }
    places = dict.fromkeys(place for each in improvements for place in each.places)
    first = ordered[0].finding
    rules = dict.fromkeys(episode.finding.rule for episode in ordered)
    return AdviceItem(
        rule=first.rule,
        message=first.message,
        bottleneck=improvements[0].bottleneck,
        remedies=best_first(tuple(remedies.values())),
        findings=tuple(episode.id for episode in ordered),
        rules=tuple(rule for rule in rules if rule != first.rule),
        places=tuple(places)[:_MAX_PLACES],
    )


def _importance(episode: Episode) -> tuple[bool, float, int, str]:
    """Sort key: findings with the largest predicted speed-up first."""
    improvement, severity = episode.finding.improvement, episode.severity.rank
    speedup = 1.0 if improvement is None else improvement.speedup
    return improvement is None, -speedup, -severity, episode.id


def _is_predicted(item: AdviceItem) -> bool:
    return any(remedy.gain is not None for remedy in item.remedies)


def _sentence(item: AdviceItem) -> str:
    expected = [
        f"{remedy.title} {gain_text(remedy.gain)}"
        for remedy in item.remedies
        if remedy.gain is not None and remedy.gain.speedup >= MIN_SPEEDUP
    ]
    if not expected:
        return item.message
    return f"{item.message} Expected: {', '.join(expected[:_MAX_REMEDIES])}."


def _limits(evaluations: Sequence[Evaluation]) -> tuple[str, ...]:
    """How busy the resources are that set the speed, the busiest first."""
    measured = [SpeedLimit.of(evaluation.summary) for evaluation in evaluations]
    limits = sorted(filter(None, measured), key=lambda limit: -limit.busy_percent)
    return tuple(dict.fromkeys(limit.sentence for limit in limits))


def _missing(evaluations: Sequence[Evaluation]) -> tuple[str, ...]:
    """What data the rules lack that predict gains, one line per reason."""
    reasons: dict[str, list[str]] = {}
    for evaluation in evaluations:
        is_undecided = evaluation.status is RuleStatus.NOT_ENOUGH_DATA
        if evaluation.summary.get(PREDICTS) and is_undecided and evaluation.reason:
            reason = evaluation.reason.removeprefix("Not enough data: ")
            reasons.setdefault(reason, []).append(evaluation.rule)
    return tuple(
        f"Not evaluated ({reason}): {', '.join(names)}" for reason, names in reasons.items()
    )


def _without_items(evaluations: Sequence[Evaluation]) -> str:
    if limits := _limits(evaluations):
        return f"{_NOTHING_FOUND} {limits[0]}"
    predicting = [each for each in evaluations if each.summary.get(PREDICTS)]
    lacking = [each for each in predicting if each.status is RuleStatus.NOT_ENOUGH_DATA]
    return _NO_DATA_YET if lacking and len(lacking) == len(predicting) else _NOTHING_FOUND
