"""HostMemoryLeak: the memory of a worker keeps growing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.growth import MIN_EXACT_POINTS, Growth, growth_by_time_or_steps, halve
from sonde.clock import NANOSECONDS
from sonde.formats import format_bytes, format_duration
from sonde.read.loading import read_iterator_starts
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Metric, Observations
from sonde.records.observation import ObservationKind
from sonde.records.ranges import TimeRange
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.system_samples import (
    Instants,
    Rows,
    SampleFilter,
    Values,
    rows_in_seconds,
)
from sonde.rules.measures.training_kind import is_reinforcement_learning

_TREE, _PROCESS, _LIVE = "process_tree.rss_bytes", "process.rss_bytes", "memory/live_bytes"
_RESIDENT = ObservationKind.RESIDENT_MEMORY.value
_LIMITS = ("cgroup.memory_limit_bytes", "memory.total_bytes")
_USED = ("cgroup.memory_used_bytes", "memory.used_bytes")
_RECLAIMABLE = "cgroup.memory_reclaimable_bytes"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of HostMemoryLeak.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 10  # allocators and libraries allocate what they need
    max_points: int = 240  # remembered
    min_seconds: float = 60.0  # unless the job ends earlier; a cache may take that long to fill
    full_share: float = 0.6  # of the limit; in the first epoch, data may be cached on purpose
    critical_share: float = 0.85  # of the limit
    soon_seconds: float = 1800.0


LIMITS = Calibration()


@dataclass(frozen=True)
class _MemorySeries:
    """The memory of a worker, node or GPU in one window."""

    subject: str
    description: str
    node: str
    worker: int | None
    times_ns: Instants
    values: Values


class HostMemoryLeak(Rule):
    """The memory of a worker keeps growing.

    Why it matters: When the memory of the machine or the container is used up, the kernel kills the
    job without a message.
    How it decides:
    - Since training began, resident memory of a worker or node, or live GPU tensors, has risen
      steadily over time or steps, by more than `increase` percent and `least_bytes`, for a minute
      or until the job ends.
    - A rise that levels off does not count. With fewer than 12 samples they must lie on a line;
      with fewer than 5, the workers' own records after step 10 are used.
    - In the first epoch and in reinforcement learning, memory must also be 60% used and run out
      within 30 minutes.
    - Critical if memory is 85% used and runs out within 30 minutes.
    What to do: Do not keep anything that holds a graph (`losses.append(loss)`: use `loss.item()`),
    and bound lists and caches of outputs. In loader processes, keep samples in arrays rather than
    lists of Python objects, which are copied when they are touched.
    """

    increase: Percent = 10.0
    least_bytes: Positive = 50e6

    section = Section.MACHINE
    calibration = LIMITS
    needs = (Metric(_TREE), Observations(_RESIDENT))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 60.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("GPUMemoryIncrease",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the memory of every worker, every node and live GPU tensors."""
        sample_filter = SampleFilter("auto", is_classic=False)
        sample_filter.begin(window, state)
        state["plays"] = (
            is_reinforcement_learning(window) if window.steps() else state.get("plays", False)
        )
        ends_ns = [int(table.ends_ns[-1]) for table in window.steps()]
        state["trained_until"] = max([state.get("trained_until", 0), *ends_ns])
        leaking: set[str] = set()
        sampled = [*_workers(window), *_nodes(window), *_live(window)]
        for series in (*sampled, *(_resident(window) if _is_short(window) else ())):
            samples_state = state.of("series", series.subject)
            if samples_state.get("attempt") != window.attempt.number:
                samples_state.clear()
                samples_state["attempt"] = window.attempt.number
            counted = sample_filter.take(state, series.subject, series.times_ns, series.values)
            rows = samples_state.get("rows", []) + _rows(window, *counted)
            if window.is_last and state["trained_until"]:  # ignore memory after training
                rows = [row for row in rows if row[0] <= state["trained_until"] / NANOSECONDS]
            if self._has_grown(rows):  # rarely, and reading epochs is expensive
                rows = _in_later_epochs(rows, window, state)
            samples_state["rows"] = halve(rows, LIMITS.max_points)
            growth = self._growth(
                samples_state["rows"], 0.0 if window.is_last else LIMITS.min_seconds
            )
            limits = _limits(window, series.node) if growth else None
            # a leak of a worker explains the growth of its node
            is_explained = series.worker is None and series.node in leaking
            if growth is None or is_explained or not _is_leak(growth, state, limits):
                yield self.recovered(series.subject)
                continue
            leaking.add(series.node)
            yield self._finding(series, growth, limits)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        counts = [len(samples.get("rows", ())) for samples in state.of("series").values()]
        has = max(counts, default=0)
        if has >= MIN_EXACT_POINTS:
            return ""
        return Shortfall(has, MIN_EXACT_POINTS, DataUnit.SYSTEM_SAMPLES)

    def _has_grown(self, rows: Rows) -> bool:
        return bool(rows) and max(row[1] for row in rows) - rows[0][1] > self.least_bytes

    def _growth(self, rows: Rows, min_seconds: float) -> Growth | None:
        """Return steady growth above the limits, or None if there is none."""
        if not self._has_grown(rows) or rows[-1][0] - rows[0][0] < min_seconds:
            return None
        points = np.array(rows)
        result = growth_by_time_or_steps(points[:, 2], points[:, 0], points[:, 1])
        if result is None or not result.is_steady:
            return None
        minimum = max(self.least_bytes, self.increase / 100 * result.start)
        return result if result.rise > minimum else None

    def _finding(self, series: _MemorySeries, growth: Growth, limits: "_Limits | None") -> Finding:
        remaining = limits.seconds_left(growth) if limits else None
        is_near = limits is not None and limits.share >= LIMITS.critical_share
        is_critical = is_near and remaining is not None and remaining < LIMITS.soon_seconds
        lasts = (
            ""
            if remaining is None
            else f" At this rate, memory runs out in {format_duration(remaining)}."
        )
        return self.finding(
            f"{series.description} keeps growing: from {format_bytes(growth.start)} to "
            f"{format_bytes(growth.end)}, {format_bytes(60 * growth.per_second)} per minute."
            f"{lasts}",
            severity=Severity.CRITICAL if is_critical else Severity.WARNING,
            node=series.node or None,
            worker=series.worker,
            subject=series.subject,
            evidence={
                "start_bytes": growth.start,
                "end_bytes": growth.end,
                "bytes_per_second": growth.per_second,
                "seconds_left": remaining,
            },
        )


@dataclass(frozen=True)
class _Limits:
    """Memory available to the job on a node, and the used share."""

    limit: float
    used: float

    @property
    def share(self) -> float:
        """The used share of the limit."""
        return self.used / self.limit if self.limit else 0.0

    def seconds_left(self, growth: Growth) -> float:
        """Return how long the remaining memory lasts at this rate."""
        return max(0.0, self.limit - self.used) / growth.per_second


def _rows(window: Window, times_ns: Instants, values: Values) -> Rows:
    """Return rows of time, in seconds, value, and number of steps that had ended."""
    ends_ns = np.concatenate([table.ends_ns for table in window.steps()[:1]] or [times_ns[:0]])
    first = next((int(table.steps[0]) for table in window.steps()), 0)
    steps = (first + ends_ns.searchsorted(times_ns, side="right")).tolist()
    return [
        [*row, step] for row, step in zip(rows_in_seconds(times_ns, values), steps, strict=True)
    ]


def _is_leak(growth: Growth, state: State, limits: _Limits | None) -> bool:
    """Whether growth is a leak rather than data that is cached on purpose.

    Data sets are cached in the first epoch, and experience in reinforcement learning.
    """
    epochs = state.of("epochs")
    is_first = bool(epochs.get("has_loader")) and "second_ns" not in epochs
    if not (is_first or state["plays"]):
        return True
    if limits is None or limits.share < LIMITS.full_share:
        return False
    return limits.seconds_left(growth) < LIMITS.soon_seconds


def _in_later_epochs(rows: Rows, window: Window, state: State) -> Rows:
    """Return the rows since a data loader was iterated again; all rows if none was."""
    epochs = state.of("epochs")
    if epochs.get("attempt") != window.attempt.number:
        epochs.clear()
        epochs["attempt"] = window.attempt.number
    if "second_ns" not in epochs:
        within = TimeRange(window.attempt.start_ns, window.end_ns + 1)
        starts: dict[str, int] = {}
        for rank in window.attempt.ranks:
            for time_ns, facts in read_iterator_starts(window.data.worker(rank), within):
                name = f"{rank} {facts.dataset} {facts.batch_size} {facts.processes}"
                starts[name] = starts.get(name, 0) + 1
                if starts[name] > 1:
                    epochs["second_ns"] = min(time_ns, epochs.get("second_ns", time_ns))
        epochs["has_loader"] = bool(starts)
    since = epochs.get("second_ns", 0) / NANOSECONDS
    return [row for row in rows if row[0] >= since]


def _workers(window: Window) -> Iterator[_MemorySeries]:
    """Resident memory of the training processes, if recorded per process."""
    processes = {}
    for life in window.attempt.lives:
        processes[life.info.node, str(life.info.pid)] = life.info.rank
    for samples in window.system(_PROCESS):
        rank = processes.get((samples.node, samples.device.partition(" ")[0]))
        if rank is not None:
            text = f"Resident memory of worker {rank}"
            values = samples.values.astype(np.float64)
            yield _MemorySeries(
                f"worker {rank}", text, samples.node, rank, samples.times_ns, values
            )


def _nodes(window: Window) -> Iterator[_MemorySeries]:
    """Resident memory of all processes of a node together."""
    for samples in window.system(_TREE):
        text = f"Resident memory of the job on {samples.node}"
        values = samples.values.astype(np.float64)
        yield _MemorySeries(samples.node, text, samples.node, None, samples.times_ns, values)


def _live(window: Window) -> Iterator[_MemorySeries]:
    """GPU memory of live tensors, averaged over the workers."""
    for curve in window.scalars(_LIVE):
        yield _MemorySeries(
            "live", "Memory of live GPU tensors", "", None, curve.times_ns, curve.values
        )


def _is_short(window: Window) -> bool:
    """Whether the job is over before the sampler has seen enough of its training."""
    starts = [int(table.starts_ns[0]) for table in window.steps()]
    if not window.is_last or not starts:
        return False
    counts = [int((samples.times_ns >= min(starts)).sum()) for samples in window.system(_TREE)]
    return max(counts, default=0) < MIN_EXACT_POINTS


def _resident(window: Window) -> Iterator[_MemorySeries]:
    """Resident memory as recorded by the workers themselves, many times per second."""
    points: dict[int, list[tuple[int, float]]] = {}
    for observation in window.observations(_RESIDENT):
        if observation.step >= LIMITS.settling_steps:
            points.setdefault(observation.worker, []).append(
                (observation.time_ns, observation.value)
            )
    for rank, rows in points.items():
        times_ns = np.array([time_ns for time_ns, _ in rows], dtype=np.int64)
        values = np.array([value for _, value in rows])
        node = next((life.info.node for life in window.attempt.lives if life.info.rank == rank), "")
        text = f"Resident memory of worker {rank}"
        yield _MemorySeries(f"worker {rank}", text, node, rank, times_ns, values)


def _limits(window: Window, node: str) -> _Limits | None:
    """Return the memory limits of the container if it has any, else of the machine."""
    for limit, used in zip(_LIMITS, _USED, strict=True):
        max_bytes, used_bytes = _latest(window, limit, node), _latest(window, used, node)
        if max_bytes and used_bytes is not None:
            reclaimable = _latest(window, _RECLAIMABLE, node) if limit == _LIMITS[0] else None
            return _Limits(max_bytes, used_bytes - (reclaimable or 0.0))
    return None


def _latest(window: Window, metric: str, node: str) -> float | None:
    result = [samples for samples in window.system(metric) if samples.node == node]
    return float(result[0].values[-1]) if result else None
