"""Data loaders of a job: their cost, its causes, and advice."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.analyze.loading import FunctionShare, LoaderReport, examine
from sonde.clock import iso
from sonde.drawing.html import Element, element
from sonde.formats import format_duration, format_percent
from sonde.read.collectives import node_of
from sonde.read.loader_hosts import with_host
from sonde.read.loading import read_loaders
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.chart import Spec
from sonde.results.charts import bars
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, from_texts

_NUMBERS = ("p25", "p50", "p95", "maximum", "total")
_MOST_FUNCTIONS = 20


@dataclass(frozen=True)
class Loaders(Frame):
    """Data loaders of workers; read on first use."""

    readers: tuple[WorkerReader, ...]
    everyone: tuple[WorkerReader, ...]  # all workers of the job; they share the CPU cores
    machines: tuple[SystemReader, ...]

    @cached_property
    def reports(self) -> tuple[LoaderReport, ...]:
        """A report per loader, by worker and order of first use."""
        return tuple(self._examined())

    def _examined(self) -> Iterator[LoaderReport]:
        machines = {one.node: one for one in self.machines}
        workers = Counter(map(node_of, self.everyone))
        for reader in self.readers:
            node = node_of(reader)
            for record in read_loaders(reader):
                yield examine(with_host(record, machines.get(node), workers[node]))

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def advice(self) -> tuple[str, ...]:
        """Advice as sentences, without duplicates."""
        said = (one.text for report in self.reports for one in report.advice)
        return tuple(dict.fromkeys(said))

    @property
    def functions(self) -> "LoaderFunctions":
        """Time by function in profiled batches."""
        return LoaderFunctions(self.reports)

    @property
    def starts(self) -> "LoaderStarts":
        """Every start of an iterator, and the wait for its first batch."""
        return LoaderStarts(self.reports)

    def to_arrow(self) -> pa.Table:
        """One row per worker, loader and operation; durations in seconds."""
        rows = [(report, one) for report in self.reports for one in report.operations]
        return pa.table(
            {
                **_whose([report for report, _ in rows]),
                "operation": from_texts([one.operation for _, one in rows]),
                "count": _integers([one.count for _, one in rows]),
                **{name: _reals([getattr(one, name) for _, one in rows]) for name in _NUMBERS},
            }
        )

    def documents(self) -> list[dict[str, Any]]:
        """The documents of `sonde dataloader --json`, one per loader."""
        return [_document(report) for report in self.reports]

    def __repr__(self) -> str:
        rows = [
            (
                *(str(report.record.worker), str(report.record.number), one.operation),
                *(str(one.count), *(format_duration(getattr(one, name)) for name in _NUMBERS)),
            )
            for report in self.reports
            for one in report.operations
        ]
        if not rows:
            return "No data loaders recorded"
        titles = ("worker", "loader", "operation", "count", *_NUMBERS)
        said = "".join(f"\n- {text}" for text in self.advice)
        return aligned([titles, *rows], left=3) + (f"\n{said}" if said else "")

    _units = dict.fromkeys(_NUMBERS, "seconds")

    def _below(self) -> Sequence[Element]:
        said = [element("li", text) for text in self.advice]
        return [element("ul", *said)] if said else []

    def _picture(self) -> Spec:
        label = ("worker", "loader", "operation")
        return bars(self.to_arrow(), "Data loading", label, ("p50", "p95", "maximum"), "seconds")


@dataclass(frozen=True)
class LoaderFunctions(Frame):
    """Functions that ran while batches were loaded, the longest first."""

    reports: tuple[LoaderReport, ...]

    def to_arrow(self) -> pa.Table:
        """One row per worker, loader and function; `percent` includes callees."""
        rows = [(report, one) for report in self.reports for one in report.functions]
        return pa.table(
            {
                **_whose([report for report, _ in rows]),
                "function": from_texts([one.name for _, one in rows]),
                "file": from_texts([one.file for _, one in rows]),
                "line": _integers([one.line for _, one in rows]),
                "percent": _reals([one.percent for _, one in rows]),
                "own_percent": _reals([one.own_percent for _, one in rows]),
            }
        )

    def __repr__(self) -> str:
        found = [(report, one) for report in self.reports for one in report.functions]
        if not found:
            return "No batches profiled"
        rows = [
            (
                one.name,
                f"{one.file}:{one.line}",
                format_percent(one.percent, 1),
                format_percent(one.own_percent, 1),
            )
            for _, one in found[:_MOST_FUNCTIONS]
        ]
        return aligned([("function", "file", "total", "self"), *rows], left=2)

    def _picture(self) -> Spec:
        values = ("percent", "own_percent")
        return bars(self.to_arrow(), "Batch loading by function", "function", values, "percent")


@dataclass(frozen=True)
class LoaderStarts(Frame):
    """Starts of iterators, by loader."""

    reports: tuple[LoaderReport, ...]

    def to_arrow(self) -> pa.Table:
        """One row per start; `outlier` marks starts that took much longer than the others."""
        rows = [(report, one) for report in self.reports for one in report.record.starts]
        is_slow = [int(one in report.slow_starts) for report, one in rows]
        return pa.table(
            {
                **_whose([report for report, _ in rows]),
                "time": _integers([one.time_ns for _, one in rows]).cast(TIME),
                "seconds": _reals([one.seconds for _, one in rows]),
                "first_wait_seconds": _reals([one.first_wait_seconds for _, one in rows]),
                "outlier": _integers(is_slow).cast(pa.bool_()),
            }
        )

    def __repr__(self) -> str:
        rows = [
            (
                str(report.record.worker),
                str(report.record.number),
                iso(one.time_ns),
                format_duration(one.seconds),
                format_duration(one.first_wait_seconds),
            )
            for report in self.reports
            for one in report.record.starts
        ]
        titles = ("worker", "loader", "time", "duration", "first wait")
        return aligned([titles, *rows], left=3) if rows else "No iterator starts recorded"

    def _picture(self) -> Spec:
        label, values = ("worker", "loader"), ("seconds", "first_wait_seconds")
        return bars(self.to_arrow(), "Iterator starts", label, values, "seconds")


def _whose(reports: Sequence[LoaderReport]) -> dict[str, pa.ChunkedArray]:
    return {
        "worker": _integers([one.record.worker for one in reports]),
        "loader": _integers([one.record.number for one in reports]),
    }


def _integers(values: Sequence[int]) -> pa.ChunkedArray:
    return from_numpy(np.array(values, dtype=np.int64))


def _reals(values: Sequence[float]) -> pa.ChunkedArray:
    return from_numpy(np.array(values, dtype=np.float64))


def _document(report: LoaderReport) -> dict[str, Any]:
    record = report.record
    return {
        "worker": record.worker,
        "loader": record.number,
        "mode": record.mode,
        **asdict(record.facts),
        "device": record.device,
        "waited_percent": record.waited_percent,
        "cpu_percent": record.cpu_percent,
        "busy_percent": record.busy_percent,
        **_advised(report),
        "starts": len(record.starts),
        "operations": [asdict(one) for one in report.operations],
        "slowest_function": _function(report.slowest),
        "functions": [_function(one) for one in report.functions[:_MOST_FUNCTIONS]],
        "slow_starts": [
            {"time": iso(one.time_ns), "seconds": one.total_seconds} for one in report.slow_starts
        ],
        "slow_waits": [
            {"time": iso(one.time_ns), "step": one.step, "seconds": one.seconds}
            for one in report.slow_waits
        ],
        "advice": [asdict(one) for one in report.advice],
    }


def _advised(report: LoaderReport) -> dict[str, Any]:
    answer = report.processes
    return {
        "cores": report.loading.cores,
        "processes_needed": None if answer is None else answer.needed,
        "processes_advised": None if answer is None else answer.advised,
        "limited_by": None if answer is None else answer.limit.value,
    }


def _function(one: FunctionShare | None) -> dict[str, Any] | None:
    return asdict(one) if one is not None else None
