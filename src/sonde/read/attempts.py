"""The attempts of a job, from one start of its workers to the next.

A resumed job and an elastic restart repeat earlier steps. Attempts are evaluated separately, so
results about one do not change when the job continues.
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
class JobAttempt:
    """One launch or elastic restart of the workers, until the next one."""

    number: int
    start_ns: int
    end_ns: int | None  # start of the next attempt; None for the last
    is_over: bool  # no more data will arrive
    lives: tuple[WorkerLife, ...]
    nodes: tuple[str, ...]

    @property
    def within(self) -> TimeRange:
        """The time range of the attempt."""
        return TimeRange(self.start_ns, self.end_ns)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of its workers."""
        return tuple(sorted({life.info.rank for life in self.lives}))

    def node_of(self, rank: int) -> str:
        """The node of a worker; empty if unknown."""
        return next((life.info.node for life in self.lives if life.info.rank == rank), "")

    @property
    def is_complete(self) -> bool:
        """Whether all of its workers have started."""
        world_size = max((life.info.world_size for life in self.lives), default=0)
        return len(self.ranks) >= world_size


def find_attempts(facts: JobFacts, now_ns: int) -> tuple[JobAttempt, ...]:
    """Find all attempts of a job, in order."""
    starts = sorted(_attempt_starts(facts))
    attempts = []
    for index, (start_ns, attempt, restart) in enumerate(starts):
        following = starts[index + 1][0] if index + 1 < len(starts) else None
        matching = [node for node in facts.attempts if node.attempt.number == attempt]
        nodes = matching or facts.latest
        lives = tuple(
            life
            for life in facts.lives
            if (life.info.attempt, life.info.restart) == (attempt, restart)
        )
        is_over = following is not None or all(_is_over(node, now_ns) for node in nodes)
        names = tuple(sorted({node.attempt.node for node in nodes}))
        attempts.append(JobAttempt(index, start_ns, following, is_over, lives, names))
    return tuple(attempts)


def _is_over(node: NodeAttempt, now_ns: int) -> bool:
    """Whether no more data will arrive. A lost launcher may come back for a while."""
    if node.state is JobState.LOST:
        return now_ns - node.end_ns(now_ns) > _GRACE_SECONDS * NANOSECONDS
    return node.state.is_over


def _attempt_starts(facts: JobFacts) -> Iterator[tuple[int, int, int]]:
    """The start time, attempt number and restart number of each attempt."""
    numbers = {node_attempt.attempt.number for node_attempt in facts.attempts}
    numbers |= {life.info.attempt for life in facts.lives}
    for number in numbers:
        starts = [
            node_attempt.attempt.start_ns
            for node_attempt in facts.attempts
            if node_attempt.attempt.number == number
        ]
        lives = [life.info for life in facts.lives if life.info.attempt == number]
        restarts = {info.restart for info in lives} | {0}
        for restart in restarts:
            worker_starts = [info.start_ns for info in lives if info.restart == restart]
            yield (
                min(worker_starts + starts if restart == min(restarts) else worker_starts),
                number,
                restart,
            )
