"""The headline of a job: the few figures that say how it is doing, for all front ends."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sonde.analyze.resources import BUSY_GPU_PERCENT
from sonde.analyze.trends import measure_change
from sonde.clock import NANOSECONDS
from sonde.formats import format_count, format_duration, format_percent, format_value, pluralize
from sonde.read.scalars import LOSS
from sonde.read.system import SystemReader
from sonde.records.arrays import FloatArray
from sonde.records.chart import Cell
from sonde.records.finding import Episode
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.records.step import MAX_STEPS, Mode
from sonde.results.cost import money_and_energy
from sonde.results.efficiency import TERA, read_cost, read_efficiency
from sonde.results.job import JobResults
from sonde.results.machines import CPU, GPU, means_of, readers_of, series_of
from sonde.results.rule_verdict import root_first
from sonde.results.throughput import (
    recent_steps_per_second,
    slowest_worker,
    steps_per_second,
    trained_steps,
)
from sonde.store.tables import to_numpy

_JOB_CPU = "process_tree.cpu_percent"
_RECENT_SECONDS = 60
_RECENT_LOSSES = 200  # steps whose trend is shown
_SIGMAS = 3.0  # a loss falls or rises if more than noise explains it
_CURVE_POINTS = 40


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its unit, a note that puts it in context, and its recent course."""

    name: str
    title: str
    value: Cell
    unit: str = ""
    note: str = ""
    tone: str = ""  # `good`, `warning` or `critical`
    finding: str | None = None  # the id of the finding that it is about
    curve: tuple[float | None, ...] = ()

    @property
    def text(self) -> str:
        """The value as text."""
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            return format_value(self.value, self.unit)
        return "" if self.value is None else str(self.value)


def headline(job: JobResults) -> tuple[Figure, ...]:
    """Progress, throughput, loss, utilization, FLOP/s, lost time and cost; without the unknown."""
    figures = (
        _progress(job),
        _throughput(job),
        _loss(job),
        _utilization(job),
        _compute(job),
        _lost_time(job),
        _cost(job),
    )
    return tuple(figure for figure in figures if figure is not None)


def _progress(job: JobResults) -> Figure | None:
    """Steps, or the share of the steps to train, with the time left."""
    steps = job.summary["steps"].get(Mode.TRAIN.value)
    if not steps:
        return None
    total = _steps_to_train(job)
    if total is None or total < steps:
        return Figure("progress", "Training steps", steps, note=_elapsed(job))
    notes = [f"step {format_count(steps)} of {format_count(total)}"]
    rate = _recent_rate(job) if not job.state.is_over else None
    if rate and total > steps:
        notes.append(f"{format_duration((total - steps) / rate)} left")
    return Figure("progress", "Progress", 100 * steps / total, "percent", ", ".join(notes))


def _steps_to_train(job: JobResults) -> int | None:
    rows = job.scalars(MAX_STEPS).to_arrow()
    values = to_numpy(rows["value"]) if rows.num_rows else np.empty(0)
    known = values[np.isfinite(values) & (values >= 1)]
    return int(known[-1]) if len(known) else None


def _elapsed(job: JobResults) -> str:
    seconds = job.summary["duration_seconds"]
    return "" if seconds is None else f"in {format_duration(seconds)}"


def _recent_rate(job: JobResults) -> float | None:
    tables = trained_steps(job)
    if not tables:
        return None
    slowest = slowest_worker(tables)
    end_ns = int(slowest.ends_ns[-1])
    recent = TimeRange(end_ns - _RECENT_SECONDS * NANOSECONDS, end_ns)
    return recent_steps_per_second(slowest, recent)


def _throughput(job: JobResults) -> Figure | None:
    """Steps per second: of the last minute while the job runs, else on average."""
    tables = trained_steps(job)
    if not tables:
        return None
    average = steps_per_second(slowest_worker(tables))
    recent = None if job.state.is_over else _recent_rate(job)
    rates = read_efficiency(job).rates_text
    typical = f"median step: {rates}" if rates else ""
    if recent is None:
        note = "; ".join(filter(None, ("on average", typical)))
        return Figure("throughput", "Throughput", average, "steps/s", note)
    texts = ("last minute", f"{format_value(average, 'steps/s')} on average", typical)
    note = "; ".join(filter(None, texts))
    return Figure("throughput", "Throughput", recent, "steps/s", note)


def _loss(job: JobResults) -> Figure | None:
    """The last training loss, with its course and trend."""
    losses = {
        label: loss
        for label, loss in job.summary["losses"].items()
        if label.partition("/")[0] == Mode.TRAIN.value
    }
    if not losses:
        return None
    label, last = next(iter(losses.items()))
    values = _losses(job, label)
    note = f"step {format_count(last['step'])}"
    value = last["value"]
    if value is None or not np.isfinite(value):
        return Figure("loss", "Loss", "not finite", note=note, tone="critical")
    trend = _trend(values[-_RECENT_LOSSES:])
    title = "Loss" if len(losses) == 1 else f"Loss {label.partition('/')[2]}".rstrip()
    return Figure("loss", title, value, note=f"{trend}{note}", curve=_curve(values))


def _losses(job: JobResults, label: str) -> FloatArray:
    rows = job.losses.reduced().to_arrow()
    names = [
        name
        for name in rows["name"].unique().to_pylist()
        if f"{Mode.TRAIN.value}{name.removeprefix(LOSS)}" == label
    ]
    is_shown = pc.and_(
        pc.equal(rows["mode"], Mode.TRAIN.value), pc.is_in(rows["name"], pa.array(names))
    )
    return np.asarray(to_numpy(rows["value"].filter(is_shown)), dtype=np.float64)


def _trend(values: FloatArray) -> str:
    finite = values[np.isfinite(values)]
    if len(finite) < 8:
        return ""
    change = measure_change(finite)
    if change.has_fallen(0.0, _SIGMAS):
        return "falling, "
    return "rising, " if change.has_risen(0.0, _SIGMAS) else "flat, "


def _curve(values: FloatArray) -> tuple[float | None, ...]:
    """The course of a series as a few means."""
    chunks = np.array_split(values, min(len(values), _CURVE_POINTS)) if len(values) else []
    means = [float(np.mean(chunk)) for chunk in chunks]
    return tuple(mean if np.isfinite(mean) else None for mean in means)


def _utilization(job: JobResults) -> Figure | None:
    """Mean utilization of the GPUs, or of the CPU without GPUs."""
    readers = readers_of(job)
    gpus = [mean for reader in readers for mean in means_of(reader, series_of(reader, GPU))]
    if gpus:
        busy = sum(mean >= BUSY_GPU_PERCENT for mean in gpus)
        note = f"{busy} of {pluralize(len(gpus), 'GPU')} busy"
        tone = "" if busy == len(gpus) else "warning"
        return Figure("utilization", "GPU utilization", _mean(gpus), "percent", note, tone)
    machines = [mean for reader in readers for mean in means_of(reader, _whole(reader, CPU))]
    if not machines:
        return None
    used = sum(mean for reader in readers for mean in means_of(reader, _whole(reader, _JOB_CPU)))
    cores = sum(len(series_of(reader, CPU)) for reader in readers)
    note = f"the job uses {used / 100:.1f} of {pluralize(cores, 'core')}" if cores else ""
    return Figure("utilization", "CPU utilization", _mean(machines), "percent", note)


def _whole(reader: SystemReader, metric: str) -> tuple[Series, ...]:
    return series_of(reader, metric, is_whole=True)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _compute(job: JobResults) -> Figure | None:
    """Achieved FLOP/s, as a share of the GPU's peak if that is known."""
    efficiency = read_efficiency(job)
    if efficiency.flops_per_second is None:
        return None
    if efficiency.flops_percent is None:
        rate = efficiency.flops_per_second / TERA
        return Figure("compute", "Achieved compute", rate, "TFLOP/s")
    title = "Compute utilization"
    return Figure("compute", title, efficiency.flops_percent, "percent", efficiency.text)


def _lost_time(job: JobResults) -> Figure | None:
    """The finding that cost the most time; without one, the wait for data."""
    episodes = root_first(
        episode for rule in job.judgement().evaluations for episode in rule.episodes
    )
    costs = [(seconds, episode) for episode in episodes if (seconds := _lost_seconds(episode))]
    if costs:
        seconds, episode = max(costs, key=lambda cost: cost[0])
        severity, rule = episode.severity.value, episode.finding.rule
        tone = "" if severity == "info" else severity
        return Figure("lost", "Time lost", seconds, "seconds", rule, tone, episode.id)
    phases = job.summary["phases"].get(Mode.TRAIN.value)
    if phases is None:
        return None
    waited = format_percent(phases["percent"].get("data_wait", 0.0))
    return Figure("lost", "Time lost", "none found", note=f"data wait: {waited} of step time")


def _lost_seconds(episode: Episode) -> float:
    value = episode.finding.evidence.get("lost_seconds")
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else 0.0


def _cost(job: JobResults) -> Figure | None:
    """GPU hours, or core hours without GPUs."""
    summary: dict[str, Any] = job.summary
    seconds = summary["duration_seconds"]
    if not seconds:
        return None
    readers = readers_of(job)
    gpus = sum(len(series_of(reader, GPU)) for reader in readers)
    devices = gpus or sum(len(series_of(reader, CPU)) for reader in readers)
    if not devices:
        return None
    title = "GPU hours" if gpus else "Core hours"
    noun = "GPU" if gpus else "core"
    cost = read_cost(job) if gpus else None
    texts = (f"{pluralize(devices, noun)} for {format_duration(seconds)}", *money_and_energy(cost))
    note = ", ".join(texts)
    return Figure("cost", title, devices * seconds / 3600, note=note)
