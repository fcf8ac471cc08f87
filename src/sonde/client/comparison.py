"""Comparison of jobs: duration, progress, losses, utilization and findings."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.analyze.resources import mean_of_samples
from sonde.drawing.cells import format_cell
from sonde.records.chart import Bars, BarSeries, Group, Spec
from sonde.results.charts import lines, step_lines, unit_of
from sonde.results.machines import main_series
from sonde.results.record_rows import RecordRows
from sonde.results.scalars import described
from sonde.results.tables import Frame, aligned
from sonde.store.tables import repeated, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.client.job import Job

_LAST_SHARE = 0.05  # of the losses are averaged for the last one: single steps are noisy
_UTILIZATION = {"cpu_percent": "cpu.utilization_percent", "gpu_percent": "gpu.utilization_percent"}
_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class JobFigures:
    """Key figures of one job; NaN if not measured."""

    job: str
    state: str
    seconds: float
    steps: int  # training steps of the most advanced worker
    step_p50_seconds: float
    step_p95_seconds: float
    data_wait_percent: float  # of the total step time
    loss: float  # mean of the last 5% of the steps
    least_loss: float
    cpu_percent: float
    gpu_percent: float
    critical: int  # findings
    warning: int


@dataclass(frozen=True)
class JobComparison(Frame):
    """Several jobs next to each other; read lazily."""

    jobs: "tuple[Job, ...]"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Job names; duplicates are numbered."""
        names = [job.name for job in self.jobs]
        return tuple(
            name if names.count(name) == 1 else f"{name} #{number}"
            for number, name in enumerate(names, 1)
        )

    @cached_property
    def figures(self) -> tuple[JobFigures, ...]:
        """The key figures of each job."""
        return tuple(_figures(name, job) for name, job in zip(self.names, self.jobs, strict=True))

    def to_arrow(self) -> pa.Table:
        """One row per job."""
        return RecordRows(self.figures, JobFigures).to_arrow()

    def scalars(self, name: str = "loss") -> "JobScalars":
        """A scalar of all jobs, averaged over the workers: one row per job and step.

        Args:
            name: A scalar's name, or a pattern.
        """
        tables = []
        for label, job in zip(self.names, self.jobs, strict=True):
            rows = job.scalars(name).reduced().to_arrow()
            tables.append(rows.add_column(0, "job", repeated(label, rows.num_rows)))
        return JobScalars(pa.concat_tables(tables), name)

    def __repr__(self) -> str:
        names = [field.name for field in fields(JobFigures)]
        rows = [
            [
                name,
                *(format_cell(getattr(figures, name), unit_of(name)) for figures in self.figures),
            ]
            for name in names
        ]
        return aligned(rows, left_columns=1)

    def _chart_spec(self) -> Spec:
        curves = {}
        for label, job in zip(self.names, self.jobs, strict=True):
            steps, values = _losses(job)
            if len(steps):
                curves[label] = (steps, values)
        phase_names = dict.fromkeys(name for job in self.jobs for name in job.steps().phases)
        phases = [name for name in phase_names if any(_means(self.jobs, name))]
        drawn: list[Spec] = [lines(curves, "Loss")] if curves else []
        drawn.append(
            Bars(
                title="Mean step time by phase",
                labels=self.names,
                parts=tuple(
                    BarSeries(label=name, values=_means(self.jobs, name), tone=name)
                    for name in phases
                ),
                unit="seconds",
            )
        )
        return Group(title="Job comparison", parts=tuple(drawn))


@dataclass(frozen=True)
class JobScalars(Frame):
    """A scalar of several jobs, over steps."""

    table: pa.Table
    name: str

    def to_arrow(self) -> pa.Table:
        """One row per job and step."""
        return self.table

    def __repr__(self) -> str:
        if not self.table.num_rows:
            return f"no scalar named {self.name} recorded"
        keys = ("job", "name", "mode")
        columns = {key: self.table[key].dictionary_encode() for key in keys}
        numbers = {key: self.table[key] for key in ("step", "value")}
        instants = self.table["time"].cast(pa.int64())
        return described(pa.table({**columns, **numbers, "time_ns": instants}), keys)

    def _chart_spec(self) -> Spec:
        return step_lines(self.table, self.name, "value", ("job", "name", "mode"))


def _figures(name: str, job: "Job") -> JobFigures:
    phases = {row.phase: row for row in job.steps().statistics().rows}
    total, waiting = phases["seconds"], phases.get("data_wait")
    _, losses = _losses(job)
    finite = losses[np.isfinite(losses)]
    last = finite[-max(1, round(_LAST_SHARE * len(finite))) :]
    severities = [finding.severity.value for finding in job.findings()]
    utilization = {name: _mean_utilization(job, metric) for name, metric in _UTILIZATION.items()}
    return JobFigures(
        name,
        job.state.value,
        float(job.summary["duration_seconds"] or _NAN),
        max((len(table.steps) for table in job.steps().tables), default=0),
        total.p50,
        total.p95,
        waiting.percent if waiting is not None else _NAN,
        float(last.mean()) if len(last) else _NAN,
        float(finite.min()) if len(finite) else _NAN,
        **utilization,
        critical=severities.count("critical"),
        warning=severities.count("warning"),
    )


def _losses(job: "Job") -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    rows = job.losses.reduced().to_arrow()
    is_training = np.array([mode == "train" for mode in rows["mode"].to_pylist()], dtype=np.bool_)
    return to_numpy(rows["step"])[is_training], to_numpy(rows["value"])[is_training]


def _mean_utilization(job: "Job", metric: str) -> float:
    """The mean over all nodes and, if there is no series of the whole node, all devices."""
    readers = job.system(metric).readers
    return mean_of_samples(*(reader.samples(main_series(reader, metric))[1] for reader in readers))


def _means(jobs: "Sequence[Job]", phase: str) -> tuple[float | None, ...]:
    means: list[float | None] = []
    for job in jobs:
        rows = {row.phase: row.mean for row in job.steps().statistics().rows}
        means.append(rows.get(phase))
    return tuple(means)
