"""Step time by phase."""

from collections.abc import Iterator, Sequence

import numpy as np

from sonde.analyze.durations import durations_of, time_percent
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.steps import StepTable
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.results.job import JobResults
from sonde.results.phase_lookup import in_order, readable_name
from sonde.results.throughput import trained_steps


class PhaseTime(Chart):
    """Training step time by phase: share, total, mean, p50, p95."""

    title = "Training step time by phase"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=3)
    section = "framework"
    order = 2
    headline = 4
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        tables = trained_steps(job, self.worker)
        if not tables:
            return None
        rows = sorted(_rows(tables), key=lambda row: -float(row[1] or 0.0))
        steps = max(len(table.steps) for table in tables)
        return Table(
            title=self.title,
            note=_sentence(rows, steps),
            columns=(
                Column(name="phase", title="Phase", is_number=False),
                Column(name="percent", title="Share of step time", unit="percent", tone="phase"),
                Column(name="total", title="Total", unit="seconds"),
                Column(name="mean", title="Mean", unit="seconds"),
                Column(name="p50", title="p50", unit="seconds"),
                Column(name="p95", title="p95", unit="seconds"),
            ),
            rows=tuple(rows),
        )


def _rows(tables: Sequence[StepTable]) -> Iterator[tuple[Cell, ...]]:
    """Name, share, total, mean, p50 and p95 of each phase that took time."""
    step_seconds = np.concatenate(
        [table.durations_ns[table.is_representative] / NANOSECONDS for table in tables]
    )
    for name in in_order([name for table in tables for name in table.phases_ns]):
        columns = [
            table.phases_ns[name][table.is_representative]
            for table in tables
            if name in table.phases_ns
        ]
        seconds = np.concatenate(columns) / NANOSECONDS
        total = float(seconds.sum())
        if total > 0:
            share = time_percent(seconds, step_seconds)
            phase = durations_of(seconds)
            yield readable_name(name), share, total, phase.mean, phase.p50, phase.p95


def _sentence(rows: list[tuple[Cell, ...]], steps: int) -> str:
    if not rows:
        return ""
    name, share, _, mean = rows[0][:4]
    return (
        f"Longest phase: {name} with {format_percent(float(share or 0))} of step time, "
        f"{format_duration(float(mean or 0))} per step ({pluralize(steps, 'step')})."
    )
