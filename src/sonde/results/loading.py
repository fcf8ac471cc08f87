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
_MAX_FUNCTIONS = 20


@dataclass(frozen=True)
class Loaders(Frame):
    """Data loaders of workers; read on first use."""

    readers: tuple[WorkerReader, ...]
    all_workers: tuple[WorkerReader, ...]  # all workers of the job; they share the CPU cores
    machines: tuple[SystemReader, ...]

    @cached_property
    def reports(self) -> tuple[LoaderReport, ...]:
        """A report per loader, by worker and order of first use."""
        return tuple(self._examined())

    def _examined(self) -> Iterator[LoaderReport]:
        machines = {machine.node: machine for machine in self.machines}
        workers = Counter(map(node_of, self.all_workers))
        for reader in self.readers:
            node = node_of(reader)
            for record in read_loaders(reader):
                yield examine(with_host(record, machines.get(node), workers[node]))

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def advice(self) -> tuple[str, ...]:
        """Advice as sentences, without duplicates."""
        texts = (advice_item.text for report in self.reports for advice_item in report.advice)
        return tuple(dict.fromkeys(texts))

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
        rows = [(report, operation) for report in self.reports for operation in report.operations]
        return pa.table(
            {
                **_loader_columns([report for report, _ in rows]),
                "operation": from_texts([row.operation for _, row in rows]),
                "count": _integers([row.count for _, row in rows]),
                **{name: _reals([getattr(row, name) for _, row in rows]) for name in _NUMBERS},
            }
        )

    def documents(self) -> list[dict[str, Any]]:
        """The documents of `sonde dataloader --json`, one per loader."""
        return [_document(report) for report in self.reports]

    def __repr__(self) -> str:
        rows = [
            (
                *(str(report.record.worker), str(report.record.number), operation.operation),
                *(
                    str(operation.count),
                    *(format_duration(getattr(operation, name)) for name in _NUMBERS),
                ),
            )
            for report in self.reports
            for operation in report.operations
        ]
        if not rows:
            return "No data loaders recorded"
        titles = ("worker", "loader", "operation", "count", *_NUMBERS)
        advice_text = "".join(f"\n- {text}" for text in self.advice)
        return aligned([titles, *rows], left_columns=3) + (
            f"\n{advice_text}" if advice_text else ""
        )

    _units = dict.fromkeys(_NUMBERS, "seconds")

    def _below(self) -> Sequence[Element]:
        items = [element("li", text) for text in self.advice]
        return [element("ul", *items)] if items else []

    def _chart_spec(self) -> Spec:
        label = ("worker", "loader", "operation")
        return bars(self.to_arrow(), "Data loading", label, ("p50", "p95", "maximum"), "seconds")


@dataclass(frozen=True)
class LoaderFunctions(Frame):
    """Functions that ran while batches were loaded, the longest first."""

    reports: tuple[LoaderReport, ...]

    def to_arrow(self) -> pa.Table:
        """One row per worker, loader and function; `percent` includes callees."""
        rows = [(report, function) for report in self.reports for function in report.functions]
        return pa.table(
            {
                **_loader_columns([report for report, _ in rows]),
                "function": from_texts([row.name for _, row in rows]),
                "file": from_texts([row.file for _, row in rows]),
                "line": _integers([row.line for _, row in rows]),
                "percent": _reals([row.percent for _, row in rows]),
                "own_percent": _reals([row.own_percent for _, row in rows]),
            }
        )

    def __repr__(self) -> str:
        functions = [(report, function) for report in self.reports for function in report.functions]
        if not functions:
            return "No batches profiled"
        rows = [
            (
                each.name,
                f"{each.file}:{each.line}",
                format_percent(each.percent, 1),
                format_percent(each.own_percent, 1),
            )
            for _, each in functions[:_MAX_FUNCTIONS]
        ]
        return aligned([("function", "file", "total", "self"), *rows], left_columns=2)

    def _chart_spec(self) -> Spec:
        values = ("percent", "own_percent")
        return bars(self.to_arrow(), "Batch loading by function", "function", values, "percent")


@dataclass(frozen=True)
class LoaderStarts(Frame):
    """Starts of iterators, by loader."""

    reports: tuple[LoaderReport, ...]

    def to_arrow(self) -> pa.Table:
        """One row per start; `outlier` marks starts that took much longer than the others."""
        rows = [(report, start) for report in self.reports for start in report.record.starts]
        is_slow = [int(row in report.slow_starts) for report, row in rows]
        return pa.table(
            {
                **_loader_columns([report for report, _ in rows]),
                "time": _integers([row.time_ns for _, row in rows]).cast(TIME),
                "seconds": _reals([row.seconds for _, row in rows]),
                "first_wait_seconds": _reals([row.first_wait_seconds for _, row in rows]),
                "outlier": _integers(is_slow).cast(pa.bool_()),
            }
        )

    def __repr__(self) -> str:
        rows = [
            (
                str(report.record.worker),
                str(report.record.number),
                iso(start.time_ns),
                format_duration(start.seconds),
                format_duration(start.first_wait_seconds),
            )
            for report in self.reports
            for start in report.record.starts
        ]
        titles = ("worker", "loader", "time", "duration", "first wait")
        return aligned([titles, *rows], left_columns=3) if rows else "No iterator starts recorded"

    def _chart_spec(self) -> Spec:
        label, values = ("worker", "loader"), ("seconds", "first_wait_seconds")
        return bars(self.to_arrow(), "Iterator starts", label, values, "seconds")


def _loader_columns(reports: Sequence[LoaderReport]) -> dict[str, pa.ChunkedArray]:
    return {
        "worker": _integers([report.record.worker for report in reports]),
        "loader": _integers([report.record.number for report in reports]),
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
        "operations": [asdict(operation) for operation in report.operations],
        "slowest_function": _function(report.slowest),
        "functions": [_function(function) for function in report.functions[:_MAX_FUNCTIONS]],
        "slow_starts": [
            {"time": iso(slow_start.time_ns), "seconds": slow_start.total_seconds}
            for slow_start in report.slow_starts
        ],
        "slow_waits": [
            {"time": iso(slow_wait.time_ns), "step": slow_wait.step, "seconds": slow_wait.seconds}
            for slow_wait in report.slow_waits
        ],
        "advice": [asdict(advice_item) for advice_item in report.advice],
    }


def _advised(report: LoaderReport) -> dict[str, Any]:
    answer = report.processes
    return {
        "cores": report.loading.cores,
        "processes_needed": None if answer is None else answer.needed,
        "processes_advised": None if answer is None else answer.advised,
        "limited_by": None if answer is None else answer.limit.value,
    }


def _function(function: FunctionShare | None) -> dict[str, Any] | None:
    return asdict(function) if function is not None else None
