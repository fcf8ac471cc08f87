"""The slice of a job that a rule evaluates: fixed boundaries, data read lazily.

A window covers a number of training steps or seconds. Data without a training step (evaluations,
system samples, profiles) belongs to the window by its time.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.read.attempts import JobAttempt
from sonde.read.curves import Curve, curves_from
from sonde.read.job_data import JobData, Observation, ScalarRows
from sonde.read.profiles import operations_of
from sonde.read.scalars import Losses as LossNames
from sonde.read.scalars import Matching
from sonde.read.steps import StepTable
from sonde.read.tensors import TensorRows, merge_shards, shares_outside
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.metric import Series
from sonde.records.need import Losses, Metric, Need, Observations, Operations, Scalars, Statistics
from sonde.records.need import Steps as StepsNeed
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.step import Mode
from sonde.records.worker import TensorInfo
from sonde.store.rollups import Floats, Instants
from sonde.store.statistics import quantiles, reduce_columns

Row = TypeVar("Row")

_TRAIN = Mode.TRAIN.value


@dataclass(frozen=True)
class Samples:
    """The measured values of a metric of one device in one window."""

    node: str
    series: Series
    times_ns: Instants
    values: Floats

    @property
    def device(self) -> str:
        """The device; empty for the whole node."""
        return self.series.device

    def __len__(self) -> int:
        return len(self.times_ns)


@dataclass(frozen=True)
class WindowTensor:
    """The statistics of a tensor in one window, step by step."""

    name: str
    worker: int | None  # None: merged from the shards of all workers
    info: TensorInfo | None
    rows: TensorRows

    @property
    def steps(self) -> IntArray:
        """The recorded steps."""
        return self.rows.steps

    @property
    def is_matrix(self) -> bool:
        """Whether it has more than one dimension, like a weight and unlike a bias."""
        return self.info is None or len(self.info.shape) > 1

    def values(self, reduction: str) -> FloatArray:
        """A reduction, at each recorded step."""
        return np.asarray(reduce_columns(reduction, self.rows.columns), dtype=np.float64)

    def reduction(self, name: str) -> Iterator[tuple[int, float]]:
        """Steps and values of a reduction, such as `abs_mean`."""
        yield from zip(self.steps.tolist(), self.values(name).tolist(), strict=True)

    def quantiles(self, *at: float) -> FloatArray:
        """Quantiles at each recorded step, from histograms."""
        return np.asarray(quantiles(self.rows.columns, at), dtype=np.float64)

    def shares_outside(self, low: float, high: float) -> FloatArray:
        """The share of values below `low` or above `high` at each step; NaN if unknown."""
        return shares_outside(self.rows.columns, low, high)

    def column(self, name: str) -> FloatArray:
        """One of the mergeable statistics, such as `zeros` or `sum_of_absolutes`."""
        return np.asarray(self.rows.columns[name], dtype=np.float64)


@dataclass(frozen=True)
class Window:
    """One slice of a job."""

    data: JobData
    attempt: JobAttempt
    within: TimeRange  # over all workers
    steps_range: StepRange | None  # None for a window of seconds
    times: Mapping[int, TimeRange]  # of each worker
    is_last: bool = False  # whether it is the last window of an attempt that is over
    needs: tuple[Need, ...] = ()
    datapoint_counts: list[int] = field(default_factory=list)
    sample_times: list[int] = field(default_factory=list)  # first and last of the samples returned
    # query results and their data points, shared by all rules that run on this window
    cache: dict[tuple[object, ...], tuple[Any, int]] = field(default_factory=dict, repr=False)

    @property
    def start_ns(self) -> int:
        """Its start time."""
        return self.within.start_ns or self.attempt.start_ns

    @property
    def end_ns(self) -> int:
        """Its end time; the end of the job for the last window."""
        return self.within.end_ns or self.data.facts.end_ns or self.start_ns

    @property
    def seconds(self) -> float:
        """Its duration."""
        return (self.end_ns - self.start_ns) / NANOSECONDS

    @property
    def first_step(self) -> int | None:
        """Its first training step; None for a window of seconds."""
        return None if self.steps_range is None else self.steps_range.start

    @property
    def datapoints(self) -> int:
        """How many data points of the rule's needs were read."""
        return sum(self.datapoint_counts)

    def for_needs(self, needs: tuple[Need, ...]) -> "Window":
        """The same window for a rule; data points of its needs are counted."""
        position = (
            self.data,
            self.attempt,
            self.within,
            self.steps_range,
            self.times,
            self.is_last,
        )
        return Window(*position, needs, cache=self.cache)

    def other_job(self, job: str) -> "Window":
        """The same steps of another job, by its name in the same store or by its URI."""
        data = self.data.other_job(job)
        attempt = data.attempts[-1]
        times = dict.fromkeys(attempt.ranks, attempt.within)
        return Window(data, attempt, attempt.within, self.steps_range, times, self.is_last)

    def steps(self, mode: str = _TRAIN) -> tuple[StepTable, ...]:
        """The finished steps of each worker that has any."""

        def read() -> Iterator[StepTable]:
            for rank in self.attempt.ranks:
                table = self.data.steps(self.attempt, rank, mode)
                inside = self._inside(
                    rank, mode, table.steps, self.data.ends(self.attempt, rank, mode)
                )
                if inside.start < inside.stop:
                    yield table.take(inside)

        return self._cached(StepsNeed(mode), ("steps", mode), read, lambda table: len(table.steps))

    def losses(self, mode: str = _TRAIN) -> tuple[Curve, ...]:
        """All losses recorded by the hook; if there are none, values logged as `loss`."""

        def read() -> Iterator[Curve]:
            rows = self._scalar_rows(mode, LossNames())
            return curves_from([scalar for scalar in rows if scalar.source == "hook"] or rows)

        return self._cached(Losses(), ("losses", mode), read, len)

    def scalars(self, name: str, mode: str = _TRAIN) -> tuple[Curve, ...]:
        """Scalars whose names match a pattern, such as `learning_rate/*`.

        They are recorded when they change and at inspected steps. Until the next value, the last
        one applies. `steps()` has every step.
        """

        def read() -> Iterator[Curve]:
            return curves_from(self._scalar_rows(mode, Matching(name)))

        return self._cached(Scalars(name), ("scalars", name, mode), read, len)

    def system(self, metric: str) -> tuple[Samples, ...]:
        """Samples of a metric, by node and device."""

        def read() -> Iterator[Samples]:
            for node in self.attempt.nodes:
                series, times_ns, values = self.data.samples(self.attempt, node, metric)
                inside = slice(*times_ns.searchsorted((self.start_ns, self._open_end)).tolist())
                times_ns, values = times_ns[inside], values[:, inside]
                is_known = ~np.isnan(values)
                if values.size and is_known.all():  # the common case
                    for device_series, row in zip(series, values, strict=True):
                        yield Samples(node, device_series, times_ns, row)
                    continue
                for device_series, row, is_measured in zip(series, values, is_known, strict=True):
                    if is_measured.any():
                        yield Samples(node, device_series, times_ns[is_measured], row[is_measured])

        samples = self._cached(Metric(metric), ("system", metric), read, len)
        self.sample_times.extend(int(each.times_ns[at]) for each in samples for at in (0, -1))
        return samples

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
            collection: Such as `gradients`; `all` includes every tensor.
            mode: The mode of the steps.
            regex: Only tensors whose names match.
            each_worker: Return replicated tensors for every worker, not only for the first.
            with_histogram: Include histograms, for medians and quantiles.
        """

        def read() -> Iterator[WindowTensor]:
            members = self.data.members(collection)
            by_name: dict[str, list[TensorRows]] = {}
            for rank in self.attempt.ranks if members else ():
                rows_of = self._statistics(rank, mode, with_histogram=with_histogram)
                for name, rows in rows_of.items():
                    if name in members:
                        by_name.setdefault(name, []).append(rows)
            for name in sorted(by_name):
                if regex is None or re.search(regex, name):
                    yield from _tensors(name, members[name], by_name[name], each_worker=each_worker)

        is_each = each_worker and len(self.attempt.ranks) > 1  # same result with one worker
        key = ("tensors", collection, mode, regex, is_each, with_histogram)
        return self._cached(Statistics(collection), key, read, lambda tensor: len(tensor.steps))

    def observations(self, kind: str = "*") -> tuple[Observation, ...]:
        """Observations of the hook, in order of time."""

        def read() -> list[Observation]:
            observations: list[Observation] = []
            for rank in self.attempt.ranks:
                within = self.times[rank]
                for rows in self.data.matching_observations(self.attempt, rank, kind):
                    inside = _slice(rows.times_ns, within.start_ns, within.end_ns)
                    if inside.start < inside.stop:
                        observations += rows.take(inside)
            return sorted(
                observations, key=lambda observation: (observation.time_ns, observation.worker)
            )

        return self._cached(Observations(kind), ("observations", kind), read, lambda _: 1)

    def count_inspected_steps(self, framework: str = "torch") -> int:
        """Count training steps with a framework's hook as data points.

        The hook records nothing about many healthy states: then these steps are the data.
        """
        count = 0
        for life in self.attempt.lives:
            if life.info.framework == framework:
                rank = life.info.rank
                steps = self.data.steps(self.attempt, rank, _TRAIN).steps
                inside = self._inside(
                    rank, _TRAIN, steps, self.data.ends(self.attempt, rank, _TRAIN)
                )
                count += inside.stop - inside.start
        self.datapoint_counts.append(count)
        return count

    def operations(self, category: str, columns: Sequence[str]) -> Mapping[int, pa.Table]:
        """Profiled operations by worker."""
        tables = {
            rank: operations_of(
                self.data.worker(rank), self.times[rank], columns, {"category": (category,)}
            )
            for rank in self.attempt.ranks
        }
        self._count(Operations(category), sum(table.num_rows for table in tables.values()))
        return {rank: table for rank, table in tables.items() if table.num_rows}

    def count(self, datapoints: int) -> None:
        """Count data points that a rule evaluated in addition to its needs."""
        self.datapoint_counts.append(datapoints)

    def __str__(self) -> str:
        if self.steps_range is not None and self.steps_range.end is not None:
            return f"steps {self.steps_range.start}–{self.steps_range.end - 1}"
        since = (self.start_ns - self.attempt.start_ns) / NANOSECONDS
        return f"seconds {since:.0f}–{since + self.seconds:.0f}"

    @property
    def _open_end(self) -> int:
        return np.iinfo(np.int64).max if self.within.end_ns is None else self.within.end_ns

    def _inside(self, rank: int, mode: str, steps: IntArray, times_ns: IntArray) -> slice:
        """Which rows belong to the window: training rows by step, others by time."""
        if self.steps_range is not None and mode == _TRAIN:
            return _slice(steps, self.steps_range.start, self.steps_range.end)
        return _slice(times_ns, self.times[rank].start_ns, self.times[rank].end_ns)

    def _scalar_rows(self, mode: str, names: Container[str]) -> list[ScalarRows]:
        scalars = []
        for rank in self.attempt.ranks:
            for scalar in self.data.scalars_named(self.attempt, rank, mode, names):
                inside = self._inside(rank, mode, scalar.steps, scalar.times_ns)
                if inside.start < inside.stop:
                    scalars.append(scalar.take(inside))
        return scalars

    def _statistics(
        self, rank: int, mode: str, *, with_histogram: bool
    ) -> Mapping[str, TensorRows]:
        if self.steps_range is None or mode != _TRAIN or self.steps_range.end is None:
            return {}  # statistics are only read by training step
        start, end = self.steps_range.start or 0, self.steps_range.end
        return self.data.statistics(
            self.attempt, rank, mode, StepRange(start, end), with_histogram=with_histogram
        )

    def _cached(
        self,
        need: Need,
        key: tuple[object, ...],
        read: Callable[[], Iterable[Row]],
        size: Callable[[Row], int],
    ) -> tuple[Row, ...]:
        """Read data once for all rules that share the window, and count it for each rule."""
        if key not in self.cache:
            rows = tuple(read())
            self.cache[key] = rows, sum(map(size, rows))
        cached_rows, count = self.cache[key]
        self._count(need, count)
        return cast("tuple[Row, ...]", cached_rows)

    def _count(self, need: Need, count: int) -> None:
        if need in self.needs:
            self.datapoint_counts.append(count)


def _slice(values: IntArray, start: int | None, end: int | None) -> slice:
    """The slice of sorted values between two bounds."""
    first = 0 if start is None else int(values.searchsorted(start))
    return slice(first, len(values) if end is None else int(values.searchsorted(end)))


def _tensors(
    name: str, info: TensorInfo | None, shards: Sequence[TensorRows], *, each_worker: bool
) -> list[WindowTensor]:
    if info is not None and info.is_shard and len(shards) > 1:
        steps, times_ns, columns = merge_shards(shards)
        empty = np.zeros(len(steps), dtype=np.int64)
        rows = TensorRows(-1, steps, times_ns, empty, empty, columns)
        return [WindowTensor(name, None, info, rows)]
    chosen = shards if each_worker else shards[:1]
    return [WindowTensor(name, shard.worker, info, shard) for shard in chosen]
