"""A finding beside the rest of its job: step times, phases and utilization, with noise bounds."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.differences import Difference, difference_of, without_warm_up
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.read.steps import StepTable
from sonde.read.system import SystemReader
from sonde.records.arrays import BoolArray, FloatArray
from sonde.records.chart import Cell, Column, Table
from sonde.records.finding import Episode
from sonde.results.job import JobResults
from sonde.results.machines import CPU, CPU_MEMORY, GPU, GPU_MEMORY, IO_WAIT, readers_of, series_of
from sonde.results.throughput import slowest_worker, trained_steps

_STEP = "step"
_MAX_BUCKETS = 2000
_MIN_CHANGE = 0.01  # of the larger value, for a row to be shown
_METRICS = {
    GPU: "GPU utilization",
    GPU_MEMORY: "GPU memory",
    CPU: "CPU utilization",
    CPU_MEMORY: "Memory",
    IO_WAIT: "I/O wait",
}
_COLUMNS = (
    Column(name="quantity", title="Mean", is_number=False),
    Column(name="rest", title="Rest of the job", unit="row"),
    Column(name="during", title="During the finding", unit="row"),
    Column(name="change", title="Difference", unit="row"),
    Column(name="bound", title="Noise (95%)", unit="row"),
    Column(name="unit", title="Unit", is_number=False),
)


@dataclass(frozen=True, slots=True)
class FindingBaseline:
    """What was different during a finding, what that cost, and how sure it is."""

    table: Table | None  # None if nothing differs, or there is nothing to compare with
    sentence: str
    lost_seconds: float | None  # in steps that took longer than the others, beyond noise


def finding_baseline(job: JobResults, episode: Episode) -> FindingBaseline:
    """Compare a finding with the rest of its job."""
    steps = _steps(job, episode)
    rows = [*(_step_rows(steps) if steps else ()), *_metric_rows(job, episode)]
    shown = [row for row in rows if _differs(row[1])]
    table = None
    if shown:
        title = "During the finding and otherwise"
        table = Table(title=title, columns=_COLUMNS, rows=tuple(_cells(*row) for row in shown))
    step = next((difference for name, difference, _ in rows if name == _STEP), None)
    count = 0 if steps is None else int(steps.is_inside.sum())
    lost = step.change * count if step and step.is_significant and step.change > 0 else None
    return FindingBaseline(table, _sentence(steps, step), lost)


@dataclass(frozen=True)
class _Steps:
    """The training steps of the affected worker, and which of them belong to the finding."""

    table: StepTable
    is_inside: BoolArray
    is_outside: BoolArray


_Row = tuple[str, Difference, str]  # a quantity, its values and its unit


def _steps(job: JobResults, episode: Episode) -> _Steps | None:
    tables = trained_steps(job, episode.finding.worker)
    if not tables:
        return None
    table = slowest_worker(tables)
    if episode.first_step is not None and episode.last_step is not None:
        is_during = (table.steps >= episode.first_step) & (table.steps <= episode.last_step)
    else:
        is_during = (table.ends_ns > episode.first_ns) & (table.starts_ns < episode.last_ns)
    is_warm = np.zeros(len(table.steps), dtype=np.bool_)
    is_warm[without_warm_up(len(table.steps))] = True
    representative = table.is_representative
    return _Steps(table, is_during & representative, ~is_during & is_warm & representative)


def _step_rows(steps: _Steps) -> Iterator[_Row]:
    if not steps.is_inside.any() or not steps.is_outside.any():
        return
    columns = {_STEP: steps.table.durations_ns, **steps.table.phases_ns}
    for name, times_ns in columns.items():
        rest, during = (
            times_ns[which] / NANOSECONDS for which in (steps.is_outside, steps.is_inside)
        )
        yield name, difference_of(rest, during), "seconds"


def _metric_rows(job: JobResults, episode: Episode) -> Iterator[_Row]:
    node = episode.finding.node
    readers = readers_of(job, node if node in job.nodes else None)
    if not readers:
        return
    for metric, title in _METRICS.items():
        samples = _samples(readers[0], metric, episode)
        difference = None if samples is None else difference_of(*samples)
        if difference is not None and not math.isnan(difference.bound):
            yield title, difference, "percent"


def _samples(
    reader: SystemReader, metric: str, episode: Episode
) -> tuple[FloatArray, FloatArray] | None:
    """A metric in the rest of the job and during the finding; None if it is not recorded."""
    series = [
        each
        for each in series_of(reader, metric) or series_of(reader, metric, is_whole=True)
        if episode.finding.device in (None, each.device) or not each.device.startswith("gpu")
    ]
    if not series:
        return None
    rollup = reader.buckets(series, _MAX_BUCKETS)
    with np.errstate(invalid="ignore"):
        has_samples = (rollup.count > 0).all(axis=0)
    values = rollup.mean[:, has_samples].astype(np.float64).mean(axis=0)
    starts_ns = rollup.starts_ns[has_samples]
    is_during = (starts_ns + rollup.width_ns > episode.first_ns) & (starts_ns < episode.last_ns)
    return values[~is_during], values[is_during]


def _differs(difference: Difference) -> bool:
    """Whether a difference is worth a row: not tiny, and beyond noise if that is known."""
    largest = max(abs(difference.first), abs(difference.second))
    is_large = abs(difference.change) > _MIN_CHANGE * largest
    return is_large and (math.isnan(difference.bound) or difference.is_significant)


def _cells(name: str, difference: Difference, unit: str) -> tuple[Cell, ...]:
    title = "Step time" if name == _STEP else name.replace("_", " ").capitalize()
    if unit == "percent":
        title = name
    bound = None if math.isnan(difference.bound) else difference.bound
    return title, difference.first, difference.second, difference.change, bound, unit


def _sentence(steps: _Steps | None, step: Difference | None) -> str:
    """How sure it is that steps differ, in one sentence."""
    if steps is None or not steps.is_inside.any():
        return ""
    if step is None:
        return "The finding covers all steps of the job, so there is no baseline to compare with."
    times = f"{format_duration(step.second)} during the finding, {format_duration(step.first)}"
    times = f"Steps took {times} otherwise"
    if math.isnan(step.bound):
        return f"{times}. There are too few steps to say whether this is noise."
    if not step.is_significant:
        return f"{times}, which is within noise (± {format_duration(step.bound)})."
    percent = format_percent(abs(step.percent))
    direction = "longer" if step.change > 0 else "shorter"
    return f"{times}: {percent} {direction}, beyond noise (± {format_duration(step.bound)})."
