"""Link findings to the findings that caused them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sonde.clock import NANOSECONDS
from sonde.records.finding import Episode, Evaluation

# A consequence may appear shortly after its cause has ended.
_NEAR_NS = 60 * NANOSECONDS
_NEAR_STEPS = 100
# Start times are only as precise as a window: a cause may seem to start this much after its
# consequence.
_SAME_NS = 120 * NANOSECONDS
_SAME_STEPS = 50

Explains = Mapping[str, tuple[str, ...]]


def link_causes(evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
    """Set the cause of each episode that another episode explains.

    A cause set by a rule is kept. Links depend only on the episodes, so they need not be stored.
    """
    explains = {evaluation.rule: evaluation.explains for evaluation in evaluations}
    episodes = [episode for evaluation in evaluations for episode in evaluation.episodes]
    causes = _causes(episodes, explains)
    return tuple(
        replace(
            evaluation,
            episodes=tuple(_with_cause(episode, causes) for episode in evaluation.episodes),
        )
        for evaluation in evaluations
    )


def _causes(episodes: Sequence[Episode], explains: Explains) -> dict[str, str]:
    causes: dict[str, str] = {}
    for episode in sorted(episodes, key=_start_key):
        if episode.finding.cause is None:
            roots = [candidate for candidate in episodes if _explains(candidate, episode, explains)]
            for root in sorted(roots, key=_start_key):
                if not _leads_to(root.id, episode.id, causes):
                    causes[episode.id] = root.id
                    break
    return causes


def _with_cause(episode: Episode, causes: Mapping[str, str]) -> Episode:
    if episode.id not in causes:
        return episode
    return replace(episode, finding=replace(episode.finding, cause=causes[episode.id]))


def _start_key(episode: Episode) -> tuple[int, str]:
    return episode.first_ns, episode.id


def _explains(root: Episode, episode: Episode, explains: Explains) -> bool:
    if root.id == episode.id or episode.finding.rule not in explains.get(root.finding.rule, ()):
        return False
    return _has_same_subject(root, episode) and _overlaps(root, episode)


def _has_same_subject(root: Episode, episode: Episode) -> bool:
    """Whether no node or worker that both name differs."""
    for name in ("node", "worker"):
        root_value, value = getattr(root.finding, name), getattr(episode.finding, name)
        if None not in (root_value, value) and root_value != value:
            return False
    return True


def _overlaps(root: Episode, episode: Episode) -> bool:
    """Whether the root started before the episode, and lasted until it or ended shortly before."""
    if root.first_step is None or episode.first_step is None:
        has_begun = root.first_ns <= min(episode.last_ns, episode.first_ns + _SAME_NS)
        return has_begun and _overlaps_in_time(root, episode)
    last = episode.first_step if episode.last_step is None else episode.last_step
    if root.first_step > min(last, episode.first_step + _SAME_STEPS):
        return False
    ended = root.first_step if root.last_step is None else root.last_step
    return ended >= episode.first_step - _NEAR_STEPS or _overlaps_in_time(root, episode)


def _overlaps_in_time(root: Episode, episode: Episode) -> bool:
    return root.is_open or root.last_ns >= episode.first_ns - _NEAR_NS


def _leads_to(cause_id: str, episode_id: str, causes: Mapping[str, str]) -> bool:
    """Whether a chain of causes leads from one episode to another."""
    while cause_id != episode_id:
        if cause_id not in causes:
            return False
        cause_id = causes[cause_id]
    return True
