"""The slice of a job that a rule is shown: with fixed boundaries, and read when it is asked for.

A window holds so many training steps, or so many seconds. What has no training step (evaluation,
samples of the machine, what a profiler saw) belongs to the window in whose time it happened.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.read.attempts import Leg
from sonde.read.job_data import JobData, Observation, Reals, ScalarRows
from sonde.read.profiles import operations_of
from sonde.read.scalars import Losses as LossNames
from sonde.read.scalars import Matching
from sonde.read.steps import StepTable
from sonde.read.tensors import TensorRows, merge_shards, shares_outside
from sonde.read.workers import Numbers
from sonde.records.metric import Series
from sonde.records.need import Losses, Metric, Need, Observations, Operations, Scalars, Statistics
from sonde.records.need import Steps as StepsNeed
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.step import Mode
from sonde.records.worker import TensorInfo
from sonde.store.rollups import Floats, Instants
from sonde.store.statistics import quantiles, reduce_columns

Part = TypeVar("Part")

_TRAIN = Mode.TRAIN.value


@dataclass(frozen=True)
class Curve:
    """A scalar in one window, its mean over the workers that recorded it: a value per step."""

    name: str
    mode: str
    steps: Numbers
    times_ns: Numbers
    values: Reals

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Steps and values."""
        return iter(zip(self.steps.tolist(), self.values.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Samples:
    """A metric of one device in one window; what was not measured is left out."""

    node: str
    series: Series
    times_ns: Instants
    values: Floats

    @property
    def device(self) -> str:
        """The device; empty where the whole node is meant."""
        return self.series.device

    def __len__(self) -> int:
        return len(self.times_ns)


@dataclass(frozen=True)
class WindowTensor:
    """A tensor in one window: what sums it up, step by step."""

    name: str
    worker: int | None  # None where it was put together from the parts of all workers
    info: TensorInfo | None
    rows: TensorRows

    @property
    def steps(self) -> Numbers:
        """The steps at which it was recorded."""
        return self.rows.steps

    @property
    def is_matrix(self) -> bool:
        """Whether it has more than one axis, as weights do and biases do not."""
        return self.info is None or len(self.info.shape) > 1

    def values(self, reduction: str) -> Reals:
        """A reduction at each of its steps."""
        return np.asarray(reduce_columns(reduction, self.rows.columns), dtype=np.float64)

    def reduction(self, name: str) -> Iterator[tuple[int, float]]:
        """Steps and values of a reduction, such as `abs_mean`."""
        yield from zip(self.steps.tolist(), self.values(name).tolist(), strict=True)

    def quantiles(self, *at: float) -> Reals:
        """Values below which these fractions lie, at each of its steps; from histograms."""
        return np.asarray(quantiles(self.rows.columns, at), dtype=np.float64)

    def shares_outside(self, low: float, high: float) -> Reals:
        """Which share lies below or above two bounds, at each of its steps; NaN where unknown."""
        return shares_outside(self.rows.columns, low, high)

    def column(self, name: str) -> Reals:
        """One of the mergeable statistics, such as `zeros` or `sum_of_absolutes`."""
        return np.asarray(self.rows.columns[name], dtype=np.float64)


@dataclass(frozen=True)
class Window:
    """One slice of a job."""

    data: JobData
    leg: Leg
    within: TimeRange  # over all workers
    steps_range: StepRange | None  # None where the window is so many seconds
    times: Mapping[int, TimeRange]  # of each worker
    is_last: bool = False  # of this leg: the job, or this attempt at it, is over
    needs: tuple[Need, ...] = ()
    looked_at: list[int] = field(default_factory=list)
    sample_times: list[int] = field(default_factory=list)  # first and last of what was given out
    # what was asked for once, by any rule that is shown the same, and how much it is
    known: dict[tuple[object, ...], tuple[Any, int]] = field(default_factory=dict, repr=False)

    @property
    def start_ns(self) -> int:
        """When it begins."""
        return self.within.start_ns or self.leg.start_ns

    @property
    def end_ns(self) -> int:
        """When it ends; of the last one of a job, when the job ended."""
        return self.within.end_ns or self.data.facts.end_ns or self.start_ns

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end_ns - self.start_ns) / NANOSECONDS

    @property
    def first_step(self) -> int | None:
        """Its first training step, where it is cut by steps."""
        return None if self.steps_range is None else self.steps_range.start

    @property
    def datapoints(self) -> int:
        """How much was given out of what the rule says it needs."""
        return sum(self.looked_at)

    def for_needs(self, needs: tuple[Need, ...]) -> "Window":
        """The same, for a rule that needs this: what it is given of that is counted."""
        place = (self.data, self.leg, self.within, self.steps_range, self.times, self.is_last)
        return Window(*place, needs, known=self.known)

    def beside(self, job: str) -> "Window":
        """The same steps of another job, by its name in the same store or by its address."""
        data = self.data.beside(job)
        leg = data.legs[-1]
        times = dict.fromkeys(leg.ranks, leg.within)
        return Window(data, leg, leg.within, self.steps_range, times, self.is_last)

    def steps(self, mode: str = _TRAIN) -> tuple[StepTable, ...]:
        """The finished steps of each worker that has any."""

        def read() -> Iterator[StepTable]:
            for rank in self.leg.ranks:
                table = self.data.steps(self.leg, rank, mode)
                inside = self._inside(rank, mode, table.steps, self.data.ends(self.leg, rank, mode))
                if inside.start < inside.stop:
                    yield table.take(inside)

        return self._given(StepsNeed(mode), ("steps", mode), read, lambda one: len(one.steps))

    def losses(self, mode: str = _TRAIN) -> tuple[Curve, ...]:
        """Every loss, as the hook saw it; where it saw none, what was logged as `loss`."""

        def read() -> Iterator[Curve]:
            rows = self._scalar_rows(mode, LossNames())
            return _curves([one for one in rows if one.source == "hook"] or rows)

        return self._given(Losses(), ("losses", mode), read, len)

    def scalars(self, name: str, mode: str = _TRAIN) -> tuple[Curve, ...]:
        """Scalars whose name fits a pattern, such as `learning_rate/*`."""

        def read() -> Iterator[Curve]:
            return _curves(self._scalar_rows(mode, Matching(name)))

        return self._given(Scalars(name), ("scalars", name, mode), read, len)

    def system(self, metric: str) -> tuple[Samples, ...]:
        """Samples of a metric, of each node and device that has any."""

        def read() -> Iterator[Samples]:
            for node in self.leg.nodes:
                series, times_ns, values = self.data.samples(self.leg, node, metric)
                inside = slice(*times_ns.searchsorted((self.start_ns, self._open_end)).tolist())
                times_ns, values = times_ns[inside], values[:, inside]
                is_known = ~np.isnan(values)
                if values.size and is_known.all():  # as it mostly is
                    for one, row in zip(series, values, strict=True):
                        yield Samples(node, one, times_ns, row)
                    continue
                for one, row, known in zip(series, values, is_known, strict=True):
                    if known.any():
                        yield Samples(node, one, times_ns[known], row[known])

        found = self._given(Metric(metric), ("system", metric), read, len)
        self.sample_times.extend(int(one.times_ns[at]) for one in found for at in (0, -1))
        return found

    def tensors(
        self,
        collection: str,
        mode: str = _TRAIN,
        *,
        regex: str | None = None,
        each_worker: bool = False,
        with_histogram: bool = False,
    ) -> tuple[WindowTensor, ...]:
        """The tensors of a collection that were recorded in the window.

        Args:
            collection: Such as `gradients`; `all` is every tensor.
            mode: The mode of the step.
            regex: Only those whose name it finds.
            each_worker: What every worker has once for each of them, not only of the first.
            with_histogram: For medians and quantiles.
        """

        def read() -> Iterator[WindowTensor]:
            members = self.data.members(collection)
            parts: dict[str, list[TensorRows]] = {}
            for rank in self.leg.ranks if members else ():
                rows_of = self._statistics(rank, mode, with_histogram=with_histogram)
                for name, rows in rows_of.items():
                    if name in members:
                        parts.setdefault(name, []).append(rows)
            for name in sorted(parts):
                if regex is None or re.search(regex, name):
                    yield from _tensors(name, members[name], parts[name], each_worker=each_worker)

        is_each = each_worker and len(self.leg.ranks) > 1  # of one worker it is the same
        key = ("tensors", collection, mode, regex, is_each, with_histogram)
        return self._given(Statistics(collection), key, read, lambda one: len(one.steps))

    def observations(self, kind: str = "*") -> tuple[Observation, ...]:
        """What the hook found by itself, in order of time."""

        def read() -> list[Observation]:
            found: list[Observation] = []
            for rank in self.leg.ranks:
                within = self.times[rank]
                for rows in self.data.observed(self.leg, rank, kind):
                    inside = _slice(rows.times_ns, within.start_ns, within.end_ns)
                    if inside.start < inside.stop:
                        found += rows.take(inside)
            return sorted(found, key=lambda one: (one.time_ns, one.worker))

        return self._given(Observations(kind), ("observations", kind), read, lambda _: 1)

    def count_watched_steps(self, framework: str = "torch") -> int:
        """Training steps into which a framework's hook has looked; they count as looked at.

        Of much that is as it should be the hook says nothing: then these are what was seen.
        """
        found = 0
        for life in self.leg.lives:
            if life.info.framework == framework:
                rank = life.info.rank
                steps = self.data.steps(self.leg, rank, _TRAIN).steps
                inside = self._inside(rank, _TRAIN, steps, self.data.ends(self.leg, rank, _TRAIN))
                found += inside.stop - inside.start
        self.looked_at.append(found)
        return found

    def operations(self, category: str, columns: Sequence[str]) -> Mapping[int, pa.Table]:
        """What profilers of each worker saw, call by call."""
        found = {
            rank: operations_of(
                self.data.worker(rank), self.times[rank], columns, {"category": (category,)}
            )
            for rank in self.leg.ranks
        }
        self._count(Operations(category), sum(one.num_rows for one in found.values()))
        return {rank: one for rank, one in found.items() if one.num_rows}

    def count(self, datapoints: int) -> None:
        """Counts what a rule has looked at beside what it always needs."""
        self.looked_at.append(datapoints)

    def __str__(self) -> str:
        if self.steps_range is not None and self.steps_range.end is not None:
            return f"steps {self.steps_range.start}–{self.steps_range.end - 1}"
        since = (self.start_ns - self.leg.start_ns) / NANOSECONDS
        return f"seconds {since:.0f}–{since + self.seconds:.0f}"

    @property
    def _open_end(self) -> int:
        return np.iinfo(np.int64).max if self.within.end_ns is None else self.within.end_ns

    def _inside(self, rank: int, mode: str, steps: Numbers, times_ns: Numbers) -> slice:
        """Which rows belong to the window: of training by step, all others by time."""
        if self.steps_range is not None and mode == _TRAIN:
            return _slice(steps, self.steps_range.start, self.steps_range.end)
        return _slice(times_ns, self.times[rank].start_ns, self.times[rank].end_ns)

    def _scalar_rows(self, mode: str, names: Container[str]) -> list[ScalarRows]:
        found = []
        for rank in self.leg.ranks:
            for one in self.data.scalars_called(self.leg, rank, mode, names):
                inside = self._inside(rank, mode, one.steps, one.times_ns)
                if inside.start < inside.stop:
                    found.append(one.take(inside))
        return found

    def _statistics(
        self, rank: int, mode: str, *, with_histogram: bool
    ) -> Mapping[str, TensorRows]:
        if self.steps_range is None or mode != _TRAIN or self.steps_range.end is None:
            return {}  # statistics are asked for by steps of training
        start, end = self.steps_range.start or 0, self.steps_range.end
        return self.data.statistics(
            self.leg, rank, mode, StepRange(start, end), with_histogram=with_histogram
        )

    def _given(
        self,
        need: Need,
        key: tuple[object, ...],
        read: Callable[[], Iterable[Part]],
        size: Callable[[Part], int],
    ) -> tuple[Part, ...]:
        """What is read once for all rules that are shown the same, counted for each of them."""
        if key not in self.known:
            found = tuple(read())
            self.known[key] = found, sum(map(size, found))
        given, count = self.known[key]
        self._count(need, count)
        return cast("tuple[Part, ...]", given)

    def _count(self, need: Need, count: int) -> None:
        if need in self.needs:
            self.looked_at.append(count)


def _slice(values: Numbers, start: int | None, end: int | None) -> slice:
    """Where sorted values lie between two."""
    first = 0 if start is None else int(values.searchsorted(start))
    return slice(first, len(values) if end is None else int(values.searchsorted(end)))


def _curves(rows: Sequence[ScalarRows]) -> Iterator[Curve]:
    """One curve per scalar and mode: means over the workers, the last word of each counting."""
    groups: dict[tuple[str, str], list[ScalarRows]] = {}
    for one in rows:
        groups.setdefault((one.name, one.mode), []).append(one)
    return (_curve(name, mode, parts) for (name, mode), parts in sorted(groups.items()))


def _curve(name: str, mode: str, parts: Sequence[ScalarRows]) -> Curve:
    lasts = [_last_of_each_step(one) for one in parts]
    if len(lasts) == 1:
        [one] = lasts
        return Curve(name, mode, one.steps, one.times_ns, one.values)
    steps = np.concatenate([one.steps for one in lasts])
    distinct, places = np.unique(steps, return_inverse=True)
    counts = np.bincount(places, minlength=len(distinct))
    sums = np.zeros(len(distinct))
    times_ns = np.zeros(len(distinct), dtype=np.int64)
    with np.errstate(invalid="ignore"):  # infinities of both signs
        np.add.at(sums, places, np.concatenate([one.values for one in lasts]))
    np.maximum.at(times_ns, places, np.concatenate([one.times_ns for one in lasts]))
    return Curve(name, mode, distinct, times_ns, sums / counts)


def _last_of_each_step(rows: ScalarRows) -> ScalarRows:
    if (rows.steps[1:] > rows.steps[:-1]).all():  # as it mostly is
        return rows
    order = np.lexsort((rows.times_ns, rows.steps))
    steps = rows.steps[order]
    is_last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    return rows.take(order[is_last])


def _tensors(
    name: str, info: TensorInfo | None, parts: Sequence[TensorRows], *, each_worker: bool
) -> list[WindowTensor]:
    if info is not None and info.is_shard and len(parts) > 1:
        steps, times_ns, columns = merge_shards(parts)
        empty = np.zeros(len(steps), dtype=np.int64)
        rows = TensorRows(-1, steps, times_ns, empty, empty, columns)
        return [WindowTensor(name, None, info, rows)]
    chosen = parts if each_worker else parts[:1]
    return [WindowTensor(name, one.worker, info, one) for one in chosen]
