"""System metrics during normal steps and during outliers."""

import numpy as np

from sonde.analyze.instants import IntervalMeans, compare_intervals, interval_indices
from sonde.analyze.resources import mean_of_devices
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.formats import format_percent
from sonde.read.system import SystemReader
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.results.job import JobResults
from sonde.results.machines import CPU, CPU_MEMORY, GPU, GPU_MEMORY, IO_WAIT, readers_of, samples_of
from sonde.results.outlier_steps import StepOutliers, step_outliers

_METRICS = {
    "CPU utilization": CPU,
    "I/O wait": IO_WAIT,
    "CPU memory": CPU_MEMORY,
    "GPU utilization": GPU,
    "GPU memory": GPU_MEMORY,
}
_MIN_DIFFERENCE = 1.0  # percentage points
_ON_DEVICES = (GPU, GPU_MEMORY)


class OutlierSystem(Chart):
    """System metrics during normal steps and during outliers."""

    title = "Normal steps and outliers by system metric"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=7)
    section = "steps"
    order = 6
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        nodes = {life.info.rank: life.info.node for life in job.lives}
        readers = {reader.node: reader for reader in readers_of(job)}
        outliers = step_outliers(job.steps(worker=self.worker).tables)
        groups = [steps for steps in outliers if steps.is_outlier.any()]
        rows: list[tuple[Cell, ...]] = []
        for title, metric in _METRICS.items():
            comparisons = [
                comparison
                for each in groups
                if (reader := readers.get(nodes.get(each.table.worker, ""))) is not None
                if (comparison := _compared(reader, metric, each)) is not None
            ]
            if comparisons:
                inside, outside = _joined(comparisons)
                rows.append((title, outside, inside, inside - outside))
        if not rows:
            return None
        return Table(
            title=self.title,
            note=_sentence(rows),
            columns=(
                Column(name="metric", title="Metric", is_number=False),
                Column(name="normal", title="Normal steps", unit="percent"),
                Column(name="outliers", title="Outliers", unit="percent"),
                Column(name="difference", title="Difference", unit="points"),
            ),
            rows=tuple(rows),
        )


def _compared(reader: SystemReader, metric: str, outliers: StepOutliers) -> IntervalMeans | None:
    samples = samples_of(reader, metric, is_whole=metric not in _ON_DEVICES)
    if samples is None:
        return None
    is_counted = outliers.is_outlier | outliers.is_normal
    starts, ends = outliers.table.starts_ns[is_counted], outliers.table.ends_ns[is_counted]
    order = np.argsort(starts, kind="stable")
    indices = interval_indices(samples.times_ns, starts[order], ends[order])
    return compare_intervals(
        mean_of_devices(samples.values), indices, outliers.is_outlier[is_counted][order]
    )


def _joined(comparisons: list[IntervalMeans]) -> tuple[float, float]:
    inside = sum(each.inside * each.inside_count for each in comparisons)
    outside = sum(each.outside * each.outside_count for each in comparisons)
    return (
        inside / sum(each.inside_count for each in comparisons),
        outside / sum(each.outside_count for each in comparisons),
    )


def _sentence(rows: list[tuple[Cell, ...]]) -> str:
    title, normal, outliers, difference = max(rows, key=lambda row: abs(float(row[3] or 0)))
    if abs(float(difference or 0)) < _MIN_DIFFERENCE:
        return "No system metric differs by more than one percentage point."
    return (
        f"{title} differs most: {format_percent(float(outliers or 0))} during outliers, "
        f"{format_percent(float(normal or 0))} during normal steps."
    )
