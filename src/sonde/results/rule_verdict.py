"""All findings of a job together: causes before consequences, and a verdict in one sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.formats import format_duration, pluralize
from sonde.records.finding import Episode, Evaluation, Severity, Verdict
from sonde.records.seen import Seen
from sonde.results.advice import advice_on
from sonde.results.rule_coverage import Coverage, coverage, no_issues, results_of

_MAX_NAMED = 3
_MAX_FIRST = 5


@dataclass(frozen=True)
class _Place:
    """What decides the place of a finding among the others."""

    id: str
    cause: str | None
    rank: int  # of its severity
    is_open: bool
    speedup: float  # predicted by the advice for it: what it costs
    first: str | int

    @property
    def order(self) -> tuple[Any, ...]:
        """Smaller is more important."""
        return -self.rank, not self.is_open, -self.speedup, self.first, self.id


def root_first(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """The order of findings on every screen: by root cause, each followed by what it explains.

    Root causes are sorted by the highest severity among them and their consequences; ongoing ones
    before resolved ones, then by what they cost (the predicted speed-up), then by time.
    """
    by_id = {episode.id: episode for episode in episodes}
    places = [
        _Place(
            id=episode.id,
            cause=episode.finding.cause,
            rank=episode.severity.rank,
            is_open=episode.is_open,
            speedup=episode.finding.improvement.speedup if episode.finding.improvement else 1.0,
            first=episode.first_ns,
        )
        for episode in by_id.values()
    ]
    return tuple(by_id[each] for each in _root_first(places))


def documents_root_first(findings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same order, for findings of a status document."""
    by_id = {finding["id"]: finding for finding in findings}
    places = [
        _Place(
            id=finding["id"],
            cause=finding["cause"],
            rank=Severity(finding["severity"]).rank,
            is_open=finding["is_open"],
            speedup=_speedup(finding.get("improvement")),
            first=finding["time"][0],
        )
        for finding in by_id.values()
    ]
    return [by_id[each] for each in _root_first(places)]


def _speedup(improvement: Mapping[str, Any] | None) -> float:
    remedies = improvement["remedies"] if improvement else ()
    return max((each["gain"]["speedup"] for each in remedies if each["gain"]), default=1.0)


def _root_first(places: Sequence[_Place]) -> list[str]:
    """The ids of findings in order."""
    ids = {place.id for place in places}
    followers: dict[str | None, list[_Place]] = {}
    for place in places:
        followers.setdefault(place.cause if place.cause in ids else None, []).append(place)
    ordered: list[str] = []

    def add_with_followers(root: _Place) -> None:
        ordered.append(root.id)
        for follower in sorted(followers.get(root.id, ()), key=lambda each: each.order):
            add_with_followers(follower)

    trees = {root.id: list(_tree(root, followers)) for root in followers.get(None, [])}

    def importance(root: _Place) -> tuple[Any, ...]:
        tree = trees[root.id]
        worst = max(place.rank for place in tree)
        speedup = max(place.speedup for place in tree)
        return -worst, not any(place.is_open for place in tree), -speedup, root.order

    for root in sorted(followers.get(None, []), key=importance):
        add_with_followers(root)
    return ordered


def _tree(root: _Place, followers: Mapping[str | None, Sequence[_Place]]) -> Iterator[_Place]:
    yield root
    for follower in followers.get(root.id, ()):
        yield from _tree(follower, followers)


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
