"""Jobs beside each other: what each took, how far each came, and their losses as curves."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.records.chart import Bars, Group, Part, Spec
from sonde.results.charts import lines, step_lines
from sonde.results.record_rows import RecordRows
from sonde.results.scalars import described
from sonde.results.tables import Frame, aligned
from sonde.store.tables import repeated, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.client.job import Job

_LAST_SHARE = 0.05  # of the losses, for the last one: a single step tells little
_USED = {"cpu_percent": "cpu.utilization_percent", "gpu_percent": "gpu.utilization_percent"}
_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class JobFigures:
    """One job in figures; not a number where nothing was measured."""

    job: str
    state: str
    seconds: float
    steps: int  # of training, of the worker that came furthest
    step_p50_seconds: float
    step_p95_seconds: float
    data_wait_percent: float  # of the time of all steps
    loss: float  # the mean of the last twentieth of the steps
    least_loss: float
    cpu_percent: float
    gpu_percent: float
    critical: int  # findings
    warning: int


@dataclass(frozen=True)
class JobComparison(Frame):
    """Some jobs beside each other; nothing is read until it is asked for."""

    jobs: "tuple[Job, ...]"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names; of several with one name, each with its number."""
        names = [job.name for job in self.jobs]
        return tuple(
            name if names.count(name) == 1 else f"{name} #{place}"
            for place, name in enumerate(names, 1)
        )

    @cached_property
    def figures(self) -> tuple[JobFigures, ...]:
        """One per job."""
        return tuple(_figures(name, job) for name, job in zip(self.names, self.jobs, strict=True))

    def to_arrow(self) -> pa.Table:
        """One row per job."""
        return RecordRows(self.figures, JobFigures).to_arrow()

    def scalars(self, name: str = "loss") -> "JobScalars":
        """A scalar of all jobs, its mean over the workers: one row per job and step.

        Args:
            name: A scalar's name, or a pattern.
        """
        parts = []
        for label, job in zip(self.names, self.jobs, strict=True):
            rows = job.scalars(name).reduced().to_arrow()
            parts.append(rows.add_column(0, "job", repeated(label, rows.num_rows)))
        return JobScalars(pa.concat_tables(parts), name)

    def __repr__(self) -> str:
        names = [one.name for one in fields(JobFigures)]
        rows = [[name, *(_cell(getattr(one, name)) for one in self.figures)] for name in names]
        return aligned(rows, left=1)

    def _picture(self) -> Spec:
        curves = {}
        for label, job in zip(self.names, self.jobs, strict=True):
            steps, values = _losses(job)
            if len(steps):
                curves[label] = (steps, values)
        known = dict.fromkeys(name for job in self.jobs for name in job.steps().phases)
        phases = [name for name in known if any(_means(self.jobs, name))]
        drawn: list[Spec] = [lines(curves, "Loss")] if curves else []
        drawn.append(
            Bars(
                title="Mean time of a step by phase",
                labels=self.names,
                parts=tuple(
                    Part(label=name, values=_means(self.jobs, name), tone=name) for name in phases
                ),
                unit="seconds",
            )
        )
        return Group(title="Jobs beside each other", parts=tuple(drawn))


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
            return f"no scalar {self.name} has been recorded"
        keys = ("job", "name", "mode")
        columns = {key: self.table[key].dictionary_encode() for key in keys}
        numbers = {key: self.table[key] for key in ("step", "value")}
        instants = self.table["time"].cast(pa.int64())
        return described(pa.table({**columns, **numbers, "time_ns": instants}), keys)

    def _picture(self) -> Spec:
        return step_lines(self.table, self.name, "value", ("job", "name", "mode"))


def _figures(name: str, job: "Job") -> JobFigures:
    phases = {row.phase: row for row in job.steps().statistics().rows}
    whole, waiting = phases["seconds"], phases.get("data_wait")
    _, losses = _losses(job)
    known = losses[np.isfinite(losses)]
    last = known[-max(1, round(_LAST_SHARE * len(known))) :]
    found = [one.severity.value for one in job.findings()]
    used = {name: _mean_use(job, metric) for name, metric in _USED.items()}
    return JobFigures(
        name,
        job.state.value,
        float(job.summary["duration_seconds"] or _NAN),
        max((len(one.steps) for one in job.steps().tables), default=0),
        whole.p50,
        whole.p95,
        waiting.percent if waiting is not None else _NAN,
        float(last.mean()) if len(last) else _NAN,
        float(known.min()) if len(known) else _NAN,
        **used,
        critical=found.count("critical"),
        warning=found.count("warning"),
    )


def _losses(job: "Job") -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    rows = job.losses.reduced().to_arrow()
    is_training = np.array([one == "train" for one in rows["mode"].to_pylist()], dtype=np.bool_)
    return to_numpy(rows["step"])[is_training], to_numpy(rows["value"])[is_training]


def _mean_use(job: "Job", metric: str) -> float:
    """Over all devices and nodes; where no device is known, of the whole node."""
    parts = job.system(metric).buckets(1000).parts
    means = [rollup.mean[place] for _, rollup in parts for place in range(len(rollup.mean))]
    known = np.concatenate([np.empty(0), *means])
    known = known[np.isfinite(known)]
    return float(known.mean()) if len(known) else _NAN


def _means(jobs: "Sequence[Job]", phase: str) -> tuple[float | None, ...]:
    found: list[float | None] = []
    for job in jobs:
        rows = {row.phase: row.mean for row in job.steps().statistics().rows}
        found.append(rows.get(phase))
    return tuple(found)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
