"""Comparison of jobs: settings, speed, losses, findings, and their first divergence.

The first job is the baseline.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.analyze.resources import mean_of_samples
from sonde.drawing.cells import format_cell
from sonde.records.chart import Bars, BarSeries, Group, Spec, Text
from sonde.records.documents import (
    ComparisonDocument,
    DivergenceDocument,
    PhaseDifferenceDocument,
)
from sonde.results.aligned_losses import aligned_losses
from sonde.results.charts import lines, step_lines, unit_of
from sonde.results.divergence import Divergence, Equality, find_divergence
from sonde.results.job import JobResults
from sonde.results.machines import main_series
from sonde.results.phase_differences import PhaseDifference, phase_differences, speed_sentence
from sonde.results.plots import Plot
from sonde.results.record_rows import RecordRows
from sonde.results.run_record import RunRecord, read_run
from sonde.results.scalars import described
from sonde.results.setting_differences import SettingDifference, setting_differences
from sonde.results.tables import Frame, aligned
from sonde.store.tables import repeated, to_numpy

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

    jobs: tuple[JobResults, ...]

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

    @cached_property
    def runs(self) -> tuple[RunRecord, ...]:
        """How each job was started, and everything it recorded over steps."""
        return tuple(read_run(job, name) for name, job in zip(self.names, self.jobs, strict=True))

    @property
    def differences(self) -> tuple[SettingDifference, ...]:
        """What differs in command, commit, packages, environment and machine."""
        return setting_differences(self.runs)

    def step_time(self, job: int = 1) -> tuple[PhaseDifference, ...]:
        """The mean time of the step and its phases, compared with the baseline.

        Args:
            job: The index of the other job.
        """
        return phase_differences(self.runs[0], self.runs[job])

    def divergence(self, job: int = 1) -> Divergence | Equality:
        """The first step and value in which a job differs from the baseline.

        Args:
            job: The index of the other job.
        """
        return find_divergence(self.runs[0], self.runs[job])

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in words: speed and first divergence of each job."""
        return comparison_sentences(self.runs)

    def losses(self, by: str = "step", smoothing: float = 0.0) -> Plot:
        """The training losses on one axis.

        Args:
            by: The axis: `step`, `time` since the first step, or `samples`.
            smoothing: Weight of the previous values in a moving average, from 0 to below 1.
        """
        chart = aligned_losses(self.runs, by, smoothing)
        return Plot(chart or Text(title="Training loss", paragraphs=("No loss recorded",)))

    def document(self) -> dict[str, Any]:
        """The comparison as plain JSON values."""
        return {
            **comparison_document(self.runs),
            "figures": [asdict(figures) for figures in self.figures],
        }

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


def comparison_sentences(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """The speed and the first divergence of each run, relative to the first one."""
    first, *others = runs
    return tuple(
        sentence
        for run in others
        for sentence in (
            speed_sentence(first, run),
            find_divergence(first, run).sentence(first.name, run.name),
        )
    )


def comparison_document(runs: Sequence[RunRecord]) -> ComparisonDocument:
    """What differs between runs as plain JSON values; the first one is the baseline."""
    first, *others = runs
    return {
        "jobs": [run.name for run in runs],
        "sentences": list(comparison_sentences(runs)),
        "differences": [
            {"section": row.section, "name": row.name, "values": list(row.values)}
            for row in setting_differences(runs)
        ],
        "step_time": [
            _phase_document(run.name, row)
            for run in others
            for row in phase_differences(first, run)
        ],
        "divergences": [_divergence_document(first, run) for run in others],
    }


def _phase_document(job: str, row: PhaseDifference) -> PhaseDifferenceDocument:
    seconds = row.seconds
    return {
        "job": job,
        "phase": row.phase,
        "baseline_seconds": seconds.first,
        "seconds": seconds.second,
        "change_seconds": seconds.change,
        "bound_seconds": seconds.bound,
        "is_significant": seconds.is_significant,
    }


def _divergence_document(first: RunRecord, run: RunRecord) -> DivergenceDocument:
    result = find_divergence(first, run)
    divergence = result if isinstance(result, Divergence) else None
    return {
        "job": run.name,
        "is_equal": divergence is None,
        "sentence": result.sentence(first.name, run.name),
        "step": divergence.step if divergence else None,
        "name": divergence.name if divergence else None,
        "statistic": divergence.statistic if divergence else None,
        "last_equal_step": divergence.last_equal_step if divergence else None,
    }


def _figures(name: str, job: JobResults) -> JobFigures:
    phases = {row.phase: row for row in job.steps().statistics().rows}
    total, waiting = phases["seconds"], phases.get("data_wait")
    _, losses = _losses(job)
    finite = losses[np.isfinite(losses)]
    last = finite[-max(1, round(_LAST_SHARE * len(finite))) :]
    severities = _severities(job)
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


def _severities(job: JobResults) -> list[str]:
    return [episode.severity.value for episode in job.judgement().findings]


def _losses(job: JobResults) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    rows = job.losses.reduced().to_arrow()
    is_training = np.array([mode == "train" for mode in rows["mode"].to_pylist()], dtype=np.bool_)
    return to_numpy(rows["step"])[is_training], to_numpy(rows["value"])[is_training]


def _mean_utilization(job: JobResults, metric: str) -> float:
    """The mean over all nodes and, if there is no series of the whole node, all devices."""
    readers = job.system(metric).readers
    return mean_of_samples(*(reader.samples(main_series(reader, metric))[1] for reader in readers))


def _means(jobs: Sequence[JobResults], phase: str) -> tuple[float | None, ...]:
    means: list[float | None] = []
    for job in jobs:
        rows = {row.phase: row.mean for row in job.steps().statistics().rows}
        means.append(rows.get(phase))
    return tuple(means)
