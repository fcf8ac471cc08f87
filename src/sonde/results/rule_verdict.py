"""All findings of a job together: causes before consequences, and a verdict in one sentence."""

from collections.abc import Iterable, Sequence

from sonde.formats import format_duration, pluralize
from sonde.records.finding import Episode, Evaluation, Verdict
from sonde.records.seen import Seen
from sonde.results.advice import advice_on
from sonde.results.rule_coverage import Coverage, coverage, no_issues, results_of

_MAX_NAMED = 3
_MAX_FIRST = 5


def root_first(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """The most severe first, then the earliest; each followed by what it explains."""
    by_id = {episode.id: episode for episode in episodes}
    followers: dict[str | None, list[Episode]] = {}
    for episode in by_id.values():
        cause = episode.finding.cause
        followers.setdefault(cause if cause in by_id else None, []).append(episode)
    ordered: list[Episode] = []

    def add_with_followers(root: Episode) -> None:
        ordered.append(root)
        for follower in sorted(followers.get(root.id, ()), key=_order):
            add_with_followers(follower)

    roots = followers.get(None, [])
    worst_ranks = {root.id: max(_ranks(root, followers)) for root in roots}
    for root in sorted(roots, key=lambda root: (-worst_ranks[root.id], _order(root))):
        add_with_followers(root)
    return tuple(ordered)


def coverage_of(evaluations: Sequence[Evaluation], seen: Seen | None = None) -> Coverage:
    """How many rules could judge a job; without `seen`, it is assumed to train something."""
    seen = seen or Seen("", inside=True)
    is_training = seen.inside or seen.framework is not None
    return coverage(results_of(evaluations), is_training=is_training, is_inside=seen.inside)


def verdict(evaluations: Sequence[Evaluation], seen: Seen | None = None) -> str:
    """The verdict on a job in one sentence."""
    episodes = root_first(episode for evaluation in evaluations for episode in evaluation.episodes)
    if episodes:
        return _with_findings(episodes)
    if not evaluations:
        return "No rules were run."
    return no_issues(coverage_of(evaluations, seen))


def closing_verdict(
    evaluations: Sequence[Evaluation], *, is_final: bool, seen: Seen | None = None
) -> Verdict:
    """The verdict with the first few findings, as printed at the end of a run."""
    episodes = root_first(episode for evaluation in evaluations for episode in evaluation.episodes)
    return Verdict(
        sentence=verdict(evaluations, seen),
        seen=seen,
        findings=len(episodes),
        worst=max(
            (episode.severity for episode in episodes),
            key=lambda episode: episode.rank,
            default=None,
        ),
        first=episodes[:_MAX_FIRST],
        advice=advice_on(evaluations, seen),
        is_final=is_final,
    )


def cost(episodes: Iterable[Episode]) -> str:
    """The cost of related findings as text: the largest value of each measure in their evidence."""
    rows = [episode.finding.evidence for episode in episodes]

    def largest(name: str) -> float:
        values = [row.get(name) for row in rows]
        return max(
            (float(value) for value in values if isinstance(value, int | float)), default=0.0
        )

    costs = []
    if (hours := largest("gpu_hours_lost")) >= 0.1:
        costs.append(f"about {pluralize(round(hours, 1 if hours < 10 else 0), 'GPU-hour')} lost")
    if (seconds := largest("seconds_per_step_to_win")) > 0:
        costs.append(f"up to {format_duration(seconds)} per step can be saved")
    return ", ".join(costs)


def _with_findings(episodes: Sequence[Episode]) -> str:
    root = episodes[0]
    tree = [root]
    for episode in episodes[1:]:
        if episode.finding.cause not in {node.id for node in tree}:
            break
        tree.append(episode)
    rules = list(dict.fromkeys(episode.finding.rule for episode in tree[1:]))
    notes = [f"explains {', '.join(rules[:_MAX_NAMED])}"] if rules else []
    if len(rules) > _MAX_NAMED:
        notes[0] += f" and {len(rules) - _MAX_NAMED} more"
    notes += [price] if (price := cost(tree)) else []
    remaining = len(episodes) - len(tree)
    notes += [pluralize(remaining, "more finding")] if remaining else []
    sentence = f"{root.finding.rule}: {root.finding.message.rstrip('.')}"
    return f"{sentence} ({'; '.join(notes)})" if notes else sentence


def _ranks(root: Episode, followers: dict[str | None, list[Episode]]) -> Iterable[int]:
    yield root.severity.rank
    for follower in followers.get(root.id, ()):
        yield from _ranks(follower, followers)


def _order(episode: Episode) -> tuple[int, int, str]:
    return -episode.severity.rank, episode.first_ns, episode.id
