"""What all findings of a job mean together: causes before consequences, the whole in a sentence."""

from collections.abc import Iterable, Sequence

from sonde.analyze.coverage import Coverage, answers_of, coverage, no_issues
from sonde.records.finding import Episode, Evaluation, Verdict
from sonde.records.seen import Seen

_NAMED = 3
_FIRST = 5


def root_first(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """The worst first, then the earliest; each followed by what it explains."""
    every = {one.id: one for one in episodes}
    followers: dict[str | None, list[Episode]] = {}
    for one in every.values():
        cause = one.finding.cause
        followers.setdefault(cause if cause in every else None, []).append(one)
    found: list[Episode] = []

    def put(root: Episode) -> None:
        found.append(root)
        for one in sorted(followers.get(root.id, ()), key=_order):
            put(one)

    worst = {one.id: max(_ranks(one, followers)) for one in followers.get(None, ())}
    for root in sorted(followers.get(None, ()), key=lambda one: (-worst[one.id], _order(one))):
        put(root)
    return tuple(found)


def coverage_of(evaluations: Sequence[Evaluation], seen: Seen | None = None) -> Coverage:
    """How many rules could judge a job; without knowing what was seen, it is taken for training."""
    seen = seen or Seen("", inside=True)
    is_training = seen.inside or seen.framework is not None
    return coverage(answers_of(evaluations), is_training=is_training, is_inside=seen.inside)


def verdict(evaluations: Sequence[Evaluation], seen: Seen | None = None) -> str:
    """The whole in one sentence."""
    found = root_first(episode for one in evaluations for episode in one.episodes)
    if found:
        return _of_findings(found)
    if not evaluations:
        return "No rules were run."
    return no_issues(coverage_of(evaluations, seen))


def last_words(
    evaluations: Sequence[Evaluation], *, is_final: bool, seen: Seen | None = None
) -> Verdict:
    """The sentence, and the first few findings."""
    found = root_first(episode for one in evaluations for episode in one.episodes)
    return Verdict(
        sentence=verdict(evaluations, seen),
        seen=seen,
        findings=len(found),
        worst=max((one.severity for one in found), key=lambda one: one.rank, default=None),
        first=found[:_FIRST],
        is_final=is_final,
    )


def cost(episodes: Iterable[Episode]) -> str:
    """What findings about one thing cost, as far as they say; they count it once each."""
    evidence = [one.finding.evidence for one in episodes]

    def most(name: str) -> float:
        numbers = [one.get(name) for one in evidence]
        return max((float(one) for one in numbers if isinstance(one, int | float)), default=0.0)

    said = []
    if (hours := most("gpu_hours_lost")) >= 0.1:
        said.append(f"about {hours:.2g} GPU-hours lost")
    if (seconds := most("seconds_per_step_to_win")) > 0:
        said.append(f"{seconds:.2g} s per step to win")
    return ", ".join(said)


def _of_findings(found: Sequence[Episode]) -> str:
    root = found[0]
    tree = [root]
    for one in found[1:]:
        if one.finding.cause not in {known.id for known in tree}:
            break
        tree.append(one)
    rules = list(dict.fromkeys(one.finding.rule for one in tree[1:]))
    more = [f"explains {', '.join(rules[:_NAMED])}"] if rules else []
    if len(rules) > _NAMED:
        more[0] += f" and {len(rules) - _NAMED} more"
    more += [price] if (price := cost(tree)) else []
    rest = len(found) - len(tree)
    more += [f"{rest} more finding{'s' if rest > 1 else ''}"] if rest else []
    said = f"{root.finding.rule}: {root.finding.message.rstrip('.')}"
    return f"{said} ({'; '.join(more)})" if more else said


def _ranks(root: Episode, followers: dict[str | None, list[Episode]]) -> Iterable[int]:
    yield root.severity.rank
    for one in followers.get(root.id, ()):
        yield from _ranks(one, followers)


def _order(episode: Episode) -> tuple[int, int, str]:
    return -episode.severity.rank, episode.first_ns, episode.id
