"""Links findings that explain each other: each consequence points to what caused it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sonde.clock import NANOSECONDS
from sonde.records.finding import Episode, Evaluation

# What is over may have consequences that are seen a little later.
_NEAR_NS = 60 * NANOSECONDS
_NEAR_STEPS = 100
# Where something begins is known to a window: a cause that seems to begin so much later than its
# consequence, while that lasts, may have come first.
_SAME_NS = 120 * NANOSECONDS
_SAME_STEPS = 50

Explains = Mapping[str, tuple[str, ...]]


def linked(evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
    """The same; episodes that another one explains name it by its id.

    A cause that a rule has named itself stays. What is linked depends on the episodes alone, not on
    when anybody looked, so nobody has to keep it.
    """
    explains = {one.rule: one.explains for one in evaluations}
    episodes = [episode for one in evaluations for episode in one.episodes]
    causes = _causes(episodes, explains)
    return tuple(
        replace(one, episodes=tuple(_with_cause(episode, causes) for episode in one.episodes))
        for one in evaluations
    )


def _causes(episodes: Sequence[Episode], explains: Explains) -> dict[str, str]:
    causes: dict[str, str] = {}
    for episode in sorted(episodes, key=_began):
        if episode.finding.cause is None:
            roots = [one for one in episodes if _explains(one, episode, explains)]
            for root in sorted(roots, key=_began):
                if not _leads_to(root.id, episode.id, causes):
                    causes[episode.id] = root.id
                    break
    return causes


def _with_cause(episode: Episode, causes: Mapping[str, str]) -> Episode:
    if episode.id not in causes:
        return episode
    return replace(episode, finding=replace(episode.finding, cause=causes[episode.id]))


def _began(episode: Episode) -> tuple[int, str]:
    return episode.first_ns, episode.id


def _explains(root: Episode, episode: Episode, explains: Explains) -> bool:
    if root.id == episode.id or episode.finding.rule not in explains.get(root.finding.rule, ()):
        return False
    return _means_the_same(root, episode) and _is_at_its_time(root, episode)


def _means_the_same(root: Episode, episode: Episode) -> bool:
    """Whether nothing that both of them name differs: tensors aside, which differ by nature."""
    for name in ("node", "worker"):
        one, other = getattr(root.finding, name), getattr(episode.finding, name)
        if None not in (one, other) and one != other:
            return False
    return True


def _is_at_its_time(root: Episode, episode: Episode) -> bool:
    """Whether it had begun when the other one did, and held while that did, or right before."""
    if root.first_step is None or episode.first_step is None:
        has_begun = root.first_ns <= min(episode.last_ns, episode.first_ns + _SAME_NS)
        return has_begun and _held_by_time(root, episode)
    last = episode.first_step if episode.last_step is None else episode.last_step
    if root.first_step > min(last, episode.first_step + _SAME_STEPS):
        return False
    ended = root.first_step if root.last_step is None else root.last_step
    return ended >= episode.first_step - _NEAR_STEPS or _held_by_time(root, episode)


def _held_by_time(root: Episode, episode: Episode) -> bool:
    return root.is_open or root.last_ns >= episode.first_ns - _NEAR_NS


def _leads_to(found: str, wanted: str, causes: Mapping[str, str]) -> bool:
    """Whether one is a consequence of the other already."""
    while found != wanted:
        if found not in causes:
            return False
        found = causes[found]
    return True
