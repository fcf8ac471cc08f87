"""The legs of a job: from one start of its workers to the next.

A resumed job and an elastic restart do steps again that were done before. What was recorded in one
leg stands for itself, so what is said about it does not change when the job goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sonde.clock import NANOSECONDS
from sonde.read.jobs import JobFacts, NodeAttempt
from sonde.read.workers import WorkerLife
from sonde.records.job import JobState
from sonde.records.ranges import TimeRange

_GRACE_SECONDS = 120.0


@dataclass(frozen=True)
class Leg:
    """One start of the workers, and what they did until the next."""

    number: int
    start_ns: int
    end_ns: int | None  # where the next one begins; None of the last
    is_over: bool  # nothing more will come
    lives: tuple[WorkerLife, ...]
    nodes: tuple[str, ...]

    @property
    def within(self) -> TimeRange:
        """Its extent in time."""
        return TimeRange(self.start_ns, self.end_ns)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """Its workers."""
        return tuple(sorted({life.info.rank for life in self.lives}))

    def node_of(self, rank: int) -> str:
        """Where a worker runs; empty where it is not known."""
        return next((life.info.node for life in self.lives if life.info.rank == rank), "")

    @property
    def is_complete(self) -> bool:
        """Whether all workers that belong to it have begun."""
        wanted = max((life.info.world_size for life in self.lives), default=0)
        return len(self.ranks) >= wanted


def legs_of(facts: JobFacts, now_ns: int) -> tuple[Leg, ...]:
    """All legs, in order."""
    begun = sorted(_begun(facts))
    found = []
    for place, (start_ns, attempt, restart) in enumerate(begun):
        following = begun[place + 1][0] if place + 1 < len(begun) else None
        own = [one for one in facts.attempts if one.attempt.number == attempt]
        nodes = own or facts.latest
        lives = tuple(
            life
            for life in facts.lives
            if (life.info.attempt, life.info.restart) == (attempt, restart)
        )
        is_over = following is not None or all(_is_over(one, now_ns) for one in nodes)
        names = tuple(sorted({one.attempt.node for one in nodes}))
        found.append(Leg(place, start_ns, following, is_over, lives, names))
    return tuple(found)


def _is_over(node: NodeAttempt, now_ns: int) -> bool:
    """Whether nothing more will come; of a lost launcher, which may come back, after a while."""
    if node.state is JobState.LOST:
        return now_ns - node.end_ns(now_ns) > _GRACE_SECONDS * NANOSECONDS
    return node.state.is_over


def _begun(facts: JobFacts) -> Iterator[tuple[int, int, int]]:
    """When each leg begins, its attempt and its restart."""
    numbers = {one.attempt.number for one in facts.attempts}
    numbers |= {life.info.attempt for life in facts.lives}
    for number in numbers:
        starts = [one.attempt.start_ns for one in facts.attempts if one.attempt.number == number]
        lives = [life.info for life in facts.lives if life.info.attempt == number]
        restarts = {info.restart for info in lives} | {0}
        for restart in restarts:
            own = [info.start_ns for info in lives if info.restart == restart]
            yield min(own + starts if restart == min(restarts) else own), number, restart
