"""Blocks of steps with and without a hook in turns, inside one process, and what they tell.

Two processes differ by more than a hook costs (memory layout, clocks, neighbours); two short blocks
of one process that follow each other differ by much less.
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

_INTERRUPTED = 3.0  # times the usual step
_UNSETTLED = 2  # steps after one that was watched closely: its work goes on in another thread
_RESAMPLED = 400

Step = Callable[[], None]
Switch = Callable[[bool], None]
StepsOf = Callable[["Block"], Sequence[float]]  # something of each step


@dataclass(frozen=True, slots=True)
class Block:
    """Some steps, all of them with the hook or all without."""

    is_hooked: bool
    step_seconds: tuple[float, ...]
    wall_seconds: float
    cpu_seconds: float  # of the thread that trains
    other_cpu_seconds: float  # of all other threads
    is_quiet: tuple[bool, ...] = ()  # of each step: nothing but notes were taken, nor just before
    step_cpu_seconds: tuple[float, ...] = ()  # of each step, of the thread that trains


@dataclass(frozen=True, slots=True)
class Added:
    """What the hook adds, and how sure that is."""

    percent: float
    error_percent: float  # one standard error of the mean
    bare: float

    @property
    def amount(self) -> float:
        """In the unit of the bare one."""
        return self.bare * self.percent / 100

    def is_at_most(self, percent: float) -> bool:
        """With the noise on top."""
        return self.percent + self.error_percent <= percent


class Watch:
    """Takes the time of steps in this process."""

    def __init__(self) -> None:
        self._marks: list[float] = []

    def mark(self) -> None:
        """Between two steps."""
        self._marks.append(time.perf_counter())

    def finish(self) -> None:
        """Waits until all steps are over, where they are not yet."""

    def take(self) -> tuple[float, ...]:
        """Seconds between the marks, which are forgotten."""
        marks, self._marks = self._marks, []
        return tuple(later - earlier for earlier, later in pairwise(marks))


@dataclass(frozen=True, slots=True)
class Plan:
    """How many blocks, how long, and how the hook is switched."""

    pairs: int
    steps: int
    switch: Switch
    watch: Watch = field(default_factory=Watch)
    is_quiet: Callable[[], bool] = lambda: True  # whether the step that begins is


def session_switch() -> Switch:
    """Pauses and resumes the session that `sonde run` opened in this process."""
    session = _session()
    return lambda is_on: session.resume() if is_on else session.pause()


def session_is_quiet() -> Callable[[], bool]:
    """Whether that session takes nothing but notes just now."""
    session = _session()
    return lambda: bool(session.state.has_notes)


def _session() -> Any:
    module = sys.modules.get("sonde.hook.session")
    session = module.Session.of_process() if module is not None else None
    if session is None or not session.state.is_on:
        raise SystemExit("no session records this process: was it started by sonde run?")
    return session


def no_switch(is_on: bool) -> None:
    """Leaves everything as it is: what is found then is the noise."""


def run_blocks(step: Step, plan: Plan) -> list[Block]:
    """With and without in turns, the order reversed from pair to pair."""
    blocks = []
    for pair in range(plan.pairs):
        for is_hooked in (True, False) if pair % 2 else (False, True):
            plan.switch(is_hooked)
            blocks.append(run_block(step, plan, is_hooked))
    plan.switch(True)
    return blocks


def run_block(step: Step, plan: Plan, is_hooked: bool) -> Block:
    """Steps one after the other, each from the end of the one before."""
    watch = plan.watch
    watch.finish()
    quiet = []
    all_threads, wall = time.process_time(), time.perf_counter()
    own = [time.thread_time()]
    watch.mark()
    for _ in range(plan.steps):
        quiet.append(plan.is_quiet())
        step()
        watch.mark()
        own.append(time.thread_time())
    watch.finish()
    wall = time.perf_counter() - wall
    cpu, all_threads = time.thread_time() - own[0], time.process_time() - all_threads
    settled = tuple(all(quiet[max(0, at - _UNSETTLED) : at + 1]) for at in range(len(quiet)))
    each = tuple(later - earlier for earlier, later in pairwise(own))
    return Block(is_hooked, watch.take(), wall, cpu, all_threads - cpu, settled, each)


def save_blocks(blocks: Sequence[Block], path: Path) -> None:
    """For the process that asked for them."""
    path.write_text(json.dumps([asdict(block) for block in blocks]), encoding="utf-8")


def load_blocks(path: Path) -> list[Block]:
    """As they were saved."""
    return [Block(**block) for block in json.loads(path.read_text(encoding="utf-8"))]


def added(blocks: Sequence[Block]) -> Added:
    """Step time that hooked blocks have more of than their bare neighbours.

    Means, for what the hook does at every tenth step counts too; but a step that took several times
    the usual was interrupted by something else, and counts as no more than that.
    """
    usual = statistics.median(one for block in blocks for one in block.step_seconds)

    def mean(block: Block) -> float:
        return statistics.fmean(min(one, _INTERRUPTED * usual) for one in block.step_seconds)

    return _compare(blocks, mean)


def added_by_kind(blocks: Sequence[Block]) -> Added:
    """The same, of a hook that is quiet at most steps, and surer.

    A machine disturbs steps by many times what the hook adds to a quiet one, always to the worse:
    of these the quicker halves are compared. Those that are watched closely, and those right after
    them, count with their means.
    """
    return _added_by_kind(blocks, lambda block: block.step_seconds)


def _added_by_kind(blocks: Sequence[Block], steps_of: StepsOf) -> Added:
    pairs = list(zip(blocks[::2], blocks[1::2], strict=True))
    rest = random.Random(0)
    found = _by_kind(pairs, steps_of)
    again = [_by_kind(rest.choices(pairs, k=len(pairs)), steps_of) for _ in range(_RESAMPLED)]
    bare = [one for block in blocks if not block.is_hooked for one in steps_of(block)]
    return Added(found, statistics.stdev(again), statistics.median(bare))


def _by_kind(pairs: Sequence[tuple[Block, Block]], steps_of: StepsOf) -> float:
    bare: list[float] = []
    quiet: list[float] = []
    watched: list[float] = []
    blocks = [block for pair in pairs for block in pair]
    most = _INTERRUPTED * statistics.median(one for block in blocks for one in steps_of(block))
    for block in blocks:
        for one, is_quiet in zip(steps_of(block), block.is_quiet, strict=True):
            kind = bare if not block.is_hooked else quiet if is_quiet else watched
            kind.append(min(one, most))
    share = len(quiet) / (len(quiet) + len(watched))
    percent = 0.0
    if quiet:
        percent += 100 * share * (_quick(quiet) / _quick(bare) - 1)
    if watched:
        percent += 100 * (1 - share) * (statistics.fmean(watched) / statistics.fmean(bare) - 1)
    return percent


def _quick(seconds: Sequence[float]) -> float:
    """The mean of the quicker half."""
    return statistics.fmean(sorted(seconds)[: max(1, len(seconds) // 2)])


def added_wall(blocks: Sequence[Block]) -> Added:
    """Wall time of whole blocks, until the last step is over."""
    return _compare(blocks, lambda block: block.wall_seconds / len(block.step_seconds))


def added_cpu(blocks: Sequence[Block]) -> Added:
    """CPU time: what the training thread needs more, and all that other threads needed.

    Others write during bare blocks what they were handed before: all of it counts.
    """
    own = _added_by_kind(blocks, lambda block: block.step_cpu_seconds)
    hooked = sum(block.cpu_seconds for block in blocks if block.is_hooked)
    others = 100 * sum(block.other_cpu_seconds for block in blocks) / hooked
    return Added(own.percent + others, own.error_percent, own.bare)


def mean_added(percents: Sequence[float], bare: float) -> Added:
    """What several comparisons say together."""
    spread = statistics.stdev(percents) if len(percents) > 1 else float("inf")
    return Added(statistics.fmean(percents), spread / len(percents) ** 0.5, bare)


def _compare(blocks: Sequence[Block], quantity: Callable[[Block], float]) -> Added:
    pairs = [
        [quantity(block) for block in sorted(pair, key=lambda block: block.is_hooked)]
        for pair in zip(blocks[::2], blocks[1::2], strict=True)
    ]
    percents = [100 * (hooked / bare - 1) for bare, hooked in pairs]
    return mean_added(percents, statistics.median(bare for bare, _ in pairs))
