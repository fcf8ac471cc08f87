"""HostMemoryLeak: the memory of a worker grows all the time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.growth import FEWEST_POINTS, Growth, growth_with, halve
from sonde.clock import NANOSECONDS
from sonde.read.loading import read_iterator_starts
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Metric, Observations
from sonde.records.observation import ObservationKind
from sonde.records.ranges import TimeRange
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import is_playing
from sonde.rules.system._datapoints import Counting, Instants, Rows, Values, in_seconds

_TREE, _PROCESS, _LIVE = "process_tree.rss_bytes", "process.rss_bytes", "memory/live_bytes"
_RESIDENT = ObservationKind.RESIDENT_MEMORY.value
_SETTLING_STEPS = 10  # allocators and libraries take what they need for good
_LIMITS = ("cgroup.memory_limit_bytes", "memory.total_bytes")
_USED = ("cgroup.memory_used_bytes", "memory.used_bytes")
_RECLAIMABLE = "cgroup.memory_reclaimable_bytes"
_MOST = 240  # datapoints that are remembered one by one
_LEAST_SECONDS = 60.0  # unless the job is over before: so long a cache may take to fill up
_FULL_SHARE = 0.6  # of the limit: in a first epoch data may be kept on purpose, as far as it fits
_NEAR_SHARE = 0.85
_SOON_SECONDS = 1800.0


@dataclass(frozen=True)
class _Grown:
    """Something that takes memory, in one window."""

    subject: str
    said: str
    node: str
    worker: int | None
    times_ns: Instants
    values: Values


class HostMemoryLeak(Rule):
    """The memory of a worker grows all the time.

    Why it matters: when the memory of the machine, or of the job's container, is used up, the
    kernel kills the job without a word.
    How it decides: since training began, resident memory of a worker (or of all processes of a
    node, or live tensors on a GPU) has risen evenly, by time or by steps, by more than `increase`
    percent and `least_bytes`, for a minute or to the job's end. Below 12 samples they must lie on a
    line; a job with fewer than 5 is judged by what its workers recorded after step 10. In a first
    epoch, and in reinforcement learning, memory must also be 60% used and run out within half an
    hour. What only fills up does not count.
    What to do: do not keep what hangs on a graph (`losses.append(loss)`: write `loss.item()`), nor
    outputs in lists or caches without an end; with loader processes, hold samples in arrays and not
    in lists of Python objects, which are copied when they are touched.
    """

    increase: Percent = 10.0
    least_bytes: Positive = 50e6

    needs = (Metric(_TREE), Observations(_RESIDENT))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 60.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("GPUMemoryIncrease",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows every worker, and every node as a whole."""
        counting = Counting("auto", is_classic=False)
        counting.begin(window, state)
        state["plays"] = is_playing(window) if window.steps() else state.get("plays", False)
        ends_ns = [int(one.ends_ns[-1]) for one in window.steps()]
        state["trained_until"] = max([state.get("trained_until", 0), *ends_ns])
        leaking: set[str] = set()
        sampled = [*_workers(window), *_nodes(window), *_live(window)]
        for one in (*sampled, *(_resident(window) if _is_short(window) else ())):
            own = state.of("series", one.subject)
            if own.get("leg") != window.leg.number:
                own.clear()
                own["leg"] = window.leg.number
            counted = counting.take(state, one.subject, one.times_ns, one.values)
            rows = own.get("rows", []) + _rows(window, *counted)
            if window.is_last and state["trained_until"]:  # what follows training is no growth
                rows = [row for row in rows if row[0] <= state["trained_until"] / NANOSECONDS]
            if self._has_grown(rows):  # mostly it has not, and that is cheap to see
                rows = _in_later_epochs(rows, window, state)
            own["rows"] = halve(rows, _MOST)
            found = self._growth(own["rows"], 0.0 if window.is_last else _LEAST_SECONDS)
            limits = _limits(window, one.node) if found else None
            is_told = one.worker is None and one.node in leaking  # the worker is to blame
            if found is None or is_told or not _is_leak(found, state, limits):
                yield self.recovered(one.subject)
                continue
            leaking.add(one.node)
            yield self._found(one, found, limits)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        counts = [len(one.get("rows", ())) for one in state.of("series").values()]
        has = max(counts, default=0)
        if has >= FEWEST_POINTS:
            return ""
        return Shortfall(has, FEWEST_POINTS, DataUnit.SYSTEM_SAMPLES)

    def _has_grown(self, rows: Rows) -> bool:
        return bool(rows) and max(row[1] for row in rows) - rows[0][1] > self.least_bytes

    def _growth(self, rows: Rows, least_seconds: float) -> Growth | None:
        if not self._has_grown(rows) or rows[-1][0] - rows[0][0] < least_seconds:
            return None
        points = np.array(rows)
        found = growth_with(points[:, 2], points[:, 0], points[:, 1])
        if found is None or not found.is_steady:
            return None
        least = max(self.least_bytes, self.increase / 100 * found.start)
        return found if found.rise > least else None

    def _found(self, one: _Grown, grown: Growth, limits: "_Limits | None") -> Finding:
        left = limits.seconds_left(grown) if limits else None
        is_near = limits is not None and limits.share >= _NEAR_SHARE
        is_dying = is_near and left is not None and left < _SOON_SECONDS
        lasts = "" if left is None else f" At this pace memory lasts for {left / 60:.0f} minutes."
        return self.finding(
            f"{one.said} grow all the time: from {grown.start / 1e9:.2f} GB to "
            f"{grown.end / 1e9:.2f} GB, {grown.per_second * 60 / 1e6:.0f} MB a minute.{lasts}",
            severity=Severity.CRITICAL if is_dying else Severity.WARNING,
            node=one.node or None,
            worker=one.worker,
            subject=one.subject,
            evidence={
                "start_bytes": grown.start,
                "end_bytes": grown.end,
                "bytes_per_second": grown.per_second,
                "seconds_left": left,
            },
        )


@dataclass(frozen=True)
class _Limits:
    """How much memory there is for the job on a node, and how much of it is taken."""

    limit: float
    used: float

    @property
    def share(self) -> float:
        """How much of it is taken."""
        return self.used / self.limit if self.limit else 0.0

    def seconds_left(self, grown: Growth) -> float:
        """How long the rest lasts if something goes on growing."""
        return max(0.0, self.limit - self.used) / grown.per_second


def _rows(window: Window, times_ns: Instants, values: Values) -> Rows:
    """When, in seconds, the value, and how many steps were done by then."""
    ends_ns = np.concatenate([one.ends_ns for one in window.steps()[:1]] or [times_ns[:0]])
    first = next((int(one.steps[0]) for one in window.steps()), 0)
    steps = (first + ends_ns.searchsorted(times_ns, side="right")).tolist()
    return [[*row, step] for row, step in zip(in_seconds(times_ns, values), steps, strict=True)]


def _is_leak(grown: Growth, state: State, limits: _Limits | None) -> bool:
    """Whether it is more than data that is kept on purpose: in a first epoch, or while it plays."""
    epochs = state.of("epochs")
    is_first = bool(epochs.get("has_loader")) and "second_ns" not in epochs
    if not (is_first or state["plays"]):
        return True
    if limits is None or limits.share < _FULL_SHARE:
        return False
    return limits.seconds_left(grown) < _SOON_SECONDS


def _in_later_epochs(rows: Rows, window: Window, state: State) -> Rows:
    """What is left of rows since a data loader was begun again; all where none was."""
    epochs = state.of("epochs")
    if epochs.get("leg") != window.leg.number:
        epochs.clear()
        epochs["leg"] = window.leg.number
    if "second_ns" not in epochs:
        within = TimeRange(window.leg.start_ns, window.end_ns + 1)
        starts: dict[str, int] = {}
        for rank in window.leg.ranks:
            for time_ns, facts in read_iterator_starts(window.data.worker(rank), within):
                name = f"{rank} {facts.dataset} {facts.batch_size} {facts.processes}"
                starts[name] = starts.get(name, 0) + 1
                if starts[name] > 1:
                    epochs["second_ns"] = min(time_ns, epochs.get("second_ns", time_ns))
        epochs["has_loader"] = bool(starts)
    since = epochs.get("second_ns", 0) / NANOSECONDS
    return [row for row in rows if row[0] >= since]


def _workers(window: Window) -> Iterator[_Grown]:
    """Resident memory of the processes that train, where it is told process by process."""
    processes = {}
    for life in window.leg.lives:
        processes[life.info.node, str(life.info.pid)] = life.info.rank
    for samples in window.system(_PROCESS):
        rank = processes.get((samples.node, samples.device.partition(" ")[0]))
        if rank is not None:
            said = f"The pages of worker {rank} in memory"
            values = samples.values.astype(np.float64)
            yield _Grown(f"worker {rank}", said, samples.node, rank, samples.times_ns, values)


def _nodes(window: Window) -> Iterator[_Grown]:
    """Resident memory of all processes of a node together."""
    for samples in window.system(_TREE):
        said = f"The processes of the job on {samples.node}"
        values = samples.values.astype(np.float64)
        yield _Grown(samples.node, said, samples.node, None, samples.times_ns, values)


def _live(window: Window) -> Iterator[_Grown]:
    """What tensors hold on the GPUs, in the mean over the workers."""
    for curve in window.scalars(_LIVE):
        yield _Grown("live", "Live tensors on the GPU", "", None, curve.times_ns, curve.values)


def _is_short(window: Window) -> bool:
    """Whether the job is over before the sampler has seen enough of its training."""
    starts = [int(one.starts_ns[0]) for one in window.steps()]
    if not window.is_last or not starts:
        return False
    counts = [int((one.times_ns >= min(starts)).sum()) for one in window.system(_TREE)]
    return max(counts, default=0) < FEWEST_POINTS


def _resident(window: Window) -> Iterator[_Grown]:
    """Resident memory as workers themselves recorded it, many times a second."""
    points: dict[int, list[tuple[int, float]]] = {}
    for one in window.observations(_RESIDENT):
        if one.step >= _SETTLING_STEPS:
            points.setdefault(one.worker, []).append((one.time_ns, one.value))
    for rank, rows in points.items():
        times_ns = np.array([time_ns for time_ns, _ in rows], dtype=np.int64)
        values = np.array([value for _, value in rows])
        node = next((life.info.node for life in window.leg.lives if life.info.rank == rank), "")
        said = f"The pages of worker {rank} in memory"
        yield _Grown(f"worker {rank}", said, node, rank, times_ns, values)


def _limits(window: Window, node: str) -> _Limits | None:
    """Those of the container where it has any, else of the machine."""
    for limit, used in zip(_LIMITS, _USED, strict=True):
        most, taken = _latest(window, limit, node), _latest(window, used, node)
        if most and taken is not None:
            given_back = _latest(window, _RECLAIMABLE, node) if limit == _LIMITS[0] else None
            return _Limits(most, taken - (given_back or 0.0))
    return None


def _latest(window: Window, metric: str, node: str) -> float | None:
    found = [one for one in window.system(metric) if one.node == node]
    return float(found[0].values[-1]) if found else None
