"""What the comparison of runs reads from each of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.records.arrays import FloatArray, IntArray
from sonde.results.job import JobResults
from sonde.results.layer_matrix import Layers, read_layers
from sonde.store.tables import texts_of, to_numpy

STATISTICS = ("mean", "l2_norm")  # of tensors; equal runs have equal ones
STEP = "step"  # the duration of the whole step, beside those of its phases


@dataclass(frozen=True)
class Series:
    """A value per training step; NaN where it is undefined."""

    steps: IntArray
    values: FloatArray
    seconds: FloatArray | None = None  # of scalars, since their first value


@dataclass(frozen=True)
class RunRecord:
    """One run: how it was started, its step times, and every value recorded over steps."""

    name: str
    status: Mapping[str, Any]
    seconds: Mapping[str, FloatArray]  # by phase and step, of representative training steps
    scalars: Mapping[str, Series]
    tensors: Mapping[str, Mapping[str, Series]]  # by tensor and statistic
    collections: Mapping[str, tuple[str, ...]]  # by tensor
    losses: tuple[str, ...] = ()  # names of the training losses
    samples_per_step: float | None = None  # over all workers; None if unknown

    @property
    def loss(self) -> Series | None:
        """The training loss; of several, the first by name."""
        return next((self.scalars[name] for name in self.losses if name in self.scalars), None)

    @property
    def attempt(self) -> Mapping[str, Any]:
        """How the last attempt was started; empty if that was not recorded."""
        runs: list[Mapping[str, Any]] = self.status["runs"]
        return runs[-1] if runs else {}


def read_run(job: JobResults, name: str = "") -> RunRecord:
    """Read everything that a comparison needs, so that the job can be closed."""
    holders = job.tensors().holders
    return RunRecord(
        name=name or job.name,
        status=job.summary,
        seconds=_seconds(job),
        scalars=dict(_scalars(job)),
        tensors=_tensors(job),
        collections={name: by_rank[min(by_rank)].collections for name, by_rank in holders.items()},
        losses=job.losses.names,
        samples_per_step=samples_per_step(job),
    )


def samples_per_step(job: JobResults) -> float | None:
    """The batch size of the largest training loader, times the workers that load batches."""
    loaders = [each for each in job.dataloader().documents() if each["mode"] == "train"]
    sizes = {each["worker"]: each["batch_size"] for each in loaders if each["batch_size"]}
    return float(sum(sizes.values())) if sizes else None


def _seconds(job: JobResults) -> dict[str, FloatArray]:
    """The duration of each step and phase in seconds; the mean over the workers."""
    by_worker = []
    for table in job.steps().tables:
        which = np.flatnonzero(table.is_representative)
        columns = {STEP: table.durations_ns, **table.phases_ns}
        by_worker.append({name: column[which] / NANOSECONDS for name, column in columns.items()})
    names = dict.fromkeys(name for columns in by_worker for name in columns)
    length = min((len(columns[STEP]) for columns in by_worker), default=0)
    empty = np.zeros(length)
    return {
        name: np.mean([columns.get(name, empty)[:length] for columns in by_worker], axis=0)
        for name in names
    }


def _scalars(job: JobResults) -> Iterator[tuple[str, Series]]:
    """The scalars of training steps, in order of steps; the mean over the workers."""
    rows = job.scalars(mode="train").reduced().to_arrow()
    names, numbers = texts_of(rows["name"].dictionary_encode())
    steps, values = to_numpy(rows["step"]), to_numpy(rows["value"])
    times_ns = to_numpy(rows["time"].cast("int64"))
    for number, name in enumerate(names):
        which = np.flatnonzero(numbers == number)
        which = which[np.argsort(steps[which], kind="stable")]
        distinct, firsts = np.unique(steps[which], return_index=True)
        seconds = (times_ns[which][firsts] - times_ns[which][firsts].min()) / NANOSECONDS
        yield name, Series(distinct, values[which][firsts], seconds)


def _tensors(job: JobResults) -> dict[str, dict[str, Series]]:
    tensors = job.tensors()
    series: dict[str, dict[str, Series]] = {}
    for statistic in STATISTICS:
        layers = read_layers(tensors.readers, tensors.holders, "train", statistic)
        for name, values in zip(layers.names, layers.values, strict=True):
            series.setdefault(name, {})[statistic] = _recorded(layers, values)
    return series


def _recorded(layers: Layers, values: FloatArray) -> Series:
    """The steps with a value: other tensors may have been recorded at other steps."""
    which = np.flatnonzero(~np.isnan(values))
    return Series(layers.steps[which], values[which])
