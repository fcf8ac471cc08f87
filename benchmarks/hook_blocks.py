"""Measure the overhead of a hook with alternating blocks of steps in one process.

Two processes differ by more than a hook costs (memory layout, clocks, other load). Two consecutive
short blocks in one process differ by much less.
"""

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

_INTERRUPTED = 3.0  # times the median step
_UNSETTLED = 2  # steps after an inspected one: its work continues in another thread
_RESAMPLED = 400

Step = Callable[[], None]
Switch = Callable[[bool], None]
StepsOf = Callable[["Block"], Sequence[float]]  # a quantity of each step


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive steps, all with the hook or all without."""

    is_hooked: bool
    step_seconds: tuple[float, ...]
    wall_seconds: float
    cpu_seconds: float  # training thread
    other_cpu_seconds: float  # all other threads
    is_quiet: tuple[bool, ...] = ()  # per step: hooks were deferred, also right before
    step_cpu_seconds: tuple[float, ...] = ()  # per step, training thread


@dataclass(frozen=True, slots=True)
class Added:
    """The overhead of the hook with its standard error."""

    percent: float
    error_percent: float  # standard error of the mean
    bare: float

    @property
    def amount(self) -> float:
        """The overhead in the unit of `bare`."""
        return self.bare * self.percent / 100

    def is_at_most(self, percent: float) -> bool:
        """Whether overhead plus standard error is within a limit."""
        return self.percent + self.error_percent <= percent


class Watch:
    """Times steps in this process."""

    def __init__(self) -> None:
        self._marks: list[float] = []

    def mark(self) -> None:
        """Record the time between two steps."""
        self._marks.append(time.perf_counter())

    def finish(self) -> None:
        """Wait for asynchronous steps to finish."""

    def take(self) -> tuple[float, ...]:
        """Return the seconds between the marks and clear them."""
        marks, self._marks = self._marks, []
        return tuple(later - earlier for earlier, later in pairwise(marks))


@dataclass(frozen=True, slots=True)
class Plan:
    """Number and length of the blocks, and how to switch the hook."""

    pairs: int
    steps: int
    switch: Switch
    watch: Watch = field(default_factory=Watch)
    is_quiet: Callable[[], bool] = lambda: True  # whether hooks are deferred for the next step


def session_switch() -> Switch:
    """Return a switch that pauses and resumes the session of this process."""
    session = current_session()
    return lambda is_on: session.resume() if is_on else session.pause()


def session_is_quiet() -> Callable[[], bool]:
    """Return a function that tells whether the session defers its hooks."""
    session = current_session()
    return lambda: bool(session.state.has_notes)


def current_session() -> Any:
    """Return the session of this process."""
    module = sys.modules.get("sonde.hook.session")
    session = module.Session.of_process() if module is not None else None
    if session is None or not session.state.is_on:
        raise SystemExit("No session in this process. Start it with sonde run.")
    return session


def no_switch(is_on: bool) -> None:
    """Do nothing: the measured difference is noise."""


def run_blocks(step: Step, plan: Plan) -> list[Block]:
    """Run blocks with and without the hook; the order is reversed in every other pair."""
    blocks = []
    for pair in range(plan.pairs):
        for is_hooked in (True, False) if pair % 2 else (False, True):
            plan.switch(is_hooked)
            blocks.append(run_block(step, plan, is_hooked))
    plan.switch(True)
    return blocks


def run_block(step: Step, plan: Plan, is_hooked: bool) -> Block:
    """Run and time consecutive steps."""
    watch = plan.watch
    watch.finish()
    quiet = []
    all_threads, wall = time.process_time(), time.perf_counter()
    thread_times = [time.thread_time()]
    watch.mark()
    for _ in range(plan.steps):
        quiet.append(plan.is_quiet())
        step()
        watch.mark()
        thread_times.append(time.thread_time())
    watch.finish()
    wall = time.perf_counter() - wall
    cpu, all_threads = time.thread_time() - thread_times[0], time.process_time() - all_threads
    settled = tuple(all(quiet[max(0, at - _UNSETTLED) : at + 1]) for at in range(len(quiet)))
    step_cpu = tuple(later - earlier for earlier, later in pairwise(thread_times))
    return Block(is_hooked, watch.take(), wall, cpu, all_threads - cpu, settled, step_cpu)


def save_blocks(blocks: Sequence[Block], path: Path) -> None:
    """Write the blocks to a JSON file."""
    path.write_text(json.dumps([asdict(block) for block in blocks]), encoding="utf-8")


def load_blocks(path: Path) -> list[Block]:
    """Read blocks from a JSON file."""
    return [Block(**block) for block in json.loads(path.read_text(encoding="utf-8"))]


def added(blocks: Sequence[Block]) -> Added:
    """Return the step time that the hook adds, from neighboring blocks.

    Uses means, because work at every tenth step counts, too. Steps of more than three times the
    median were interrupted by other processes and are clipped.
    """
    median = statistics.median(seconds for block in blocks for seconds in block.step_seconds)

    def mean(block: Block) -> float:
        return statistics.fmean(
            min(seconds, _INTERRUPTED * median) for seconds in block.step_seconds
        )

    return _compare(blocks, mean)


def added_by_kind(blocks: Sequence[Block]) -> Added:
    """Return the added step time for a hook that is deferred at most steps, with less noise.

    Disturbances by the machine are much larger than what the hook adds to a deferred step, and
    always positive: for deferred steps, the faster halves are compared. Inspected steps, and those
    right after them, count with their means.
    """
    return _added_by_kind(blocks, lambda block: block.step_seconds)


def _added_by_kind(blocks: Sequence[Block], steps_of: StepsOf) -> Added:
    pairs = list(zip(blocks[::2], blocks[1::2], strict=True))
    generator = random.Random(0)
    percent = _by_kind(pairs, steps_of)
    resampled = [
        _by_kind(generator.choices(pairs, k=len(pairs)), steps_of) for _ in range(_RESAMPLED)
    ]
    bare = [value for block in blocks if not block.is_hooked for value in steps_of(block)]
    return Added(percent, statistics.stdev(resampled), statistics.median(bare))


def _by_kind(pairs: Sequence[tuple[Block, Block]], steps_of: StepsOf) -> float:
    bare: list[float] = []
    quiet: list[float] = []
    inspected: list[float] = []
    blocks = [block for pair in pairs for block in pair]
    limit = _INTERRUPTED * statistics.median(value for block in blocks for value in steps_of(block))
    for block in blocks:
        for value, is_quiet in zip(steps_of(block), block.is_quiet, strict=True):
            kind = bare if not block.is_hooked else quiet if is_quiet else inspected
            kind.append(min(value, limit))
    share = len(quiet) / (len(quiet) + len(inspected))
    percent = 0.0
    if quiet:
        percent += 100 * share * (_quick(quiet) / _quick(bare) - 1)
    if inspected:
        percent += 100 * (1 - share) * (statistics.fmean(inspected) / statistics.fmean(bare) - 1)
    return percent


def _quick(seconds: Sequence[float]) -> float:
    """Return the mean of the faster half."""
    return statistics.fmean(sorted(seconds)[: max(1, len(seconds) // 2)])


def added_wall(blocks: Sequence[Block]) -> Added:
    """Return the added wall time of complete blocks."""
    return _compare(blocks, lambda block: block.wall_seconds / len(block.step_seconds))


def added_cpu(blocks: Sequence[Block]) -> Added:
    """Return the added CPU time: of the training thread, plus all CPU time of other threads.

    Other threads may write data of earlier blocks during blocks without the hook, so all of it
    counts.
    """
    training_thread = _added_by_kind(blocks, lambda block: block.step_cpu_seconds)
    hooked = sum(block.cpu_seconds for block in blocks if block.is_hooked)
    other_threads = 100 * sum(block.other_cpu_seconds for block in blocks) / hooked
    return Added(
        training_thread.percent + other_threads, training_thread.error_percent, training_thread.bare
    )


def mean_added(percents: Sequence[float], bare: float) -> Added:
    """Combine several comparisons."""
    spread = statistics.stdev(percents) if len(percents) > 1 else float("inf")
    return Added(statistics.fmean(percents), spread / len(percents) ** 0.5, bare)


def _compare(blocks: Sequence[Block], quantity: Callable[[Block], float]) -> Added:
    pairs = [
        [quantity(block) for block in sorted(pair, key=lambda block: block.is_hooked)]
        for pair in zip(blocks[::2], blocks[1::2], strict=True)
    ]
    percents = [100 * (hooked / bare - 1) for bare, hooked in pairs]
    return mean_added(percents, statistics.median(bare for bare, _ in pairs))
