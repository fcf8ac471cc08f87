"""Balance between GPUs: a utilization histogram of each, and the distances between them."""

from collections.abc import Mapping

import numpy as np

from sonde.analyze.balance import BINS, distances, furthest_from_mean, shares
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.arrays import FloatArray
from sonde.records.chart import BarSeries, Group, Heatmap, Histogram, Spec
from sonde.results.job import JobResults
from sonde.results.machines import GPU, device_label, each_node

_MAX_GPUS = 32  # GPUs in the distance matrix
_MAX_HISTOGRAMS = 8  # GPUs in the histogram


class GpuBalance(Chart):
    """Utilization histogram of every GPU, and the distances between the histograms."""

    title = "Workload balancing"
    overview = OverviewPlace(OverviewSection.RESOURCES, order=3)
    section = "balance"
    rules = ("LoadBalancing", "Straggler")
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        histograms: dict[str, FloatArray] = {}
        nodes = job.nodes
        for samples in each_node(job, GPU, self.node):
            for device, values in zip(samples.devices, samples.values, strict=True):
                if not np.isnan(values).all():
                    histograms[device_label(samples.node, device, nodes)] = shares(values)
        if len(histograms) < 2:
            return None
        names = _most_unusual(histograms, _MAX_GPUS)
        matrix = distances([histograms[name] for name in names])
        is_truncated = len(names) < len(histograms)
        cut = (
            f"Only the {len(names)} most unusual of {len(histograms):,} GPUs are shown."
            if is_truncated
            else ""
        )
        return Group(
            title=self.title,
            note=_sentence(names, matrix),
            coarsened=cut,
            parts=(_histogram(histograms), _distances(names, matrix)),
        )


def _most_unusual(histograms: Mapping[str, FloatArray], limit: int) -> tuple[str, ...]:
    labels = tuple(histograms)
    return tuple(labels[index] for index in furthest_from_mean(list(histograms.values()), limit))


def _histogram(histograms: Mapping[str, FloatArray]) -> Histogram:
    return Histogram(
        title="Utilization per GPU",
        edges=tuple(np.linspace(0, 100, BINS + 1).tolist()),
        parts=tuple(
            BarSeries(label=name, values=tuple((100 * histograms[name]).tolist()))
            for name in _most_unusual(histograms, _MAX_HISTOGRAMS)
        ),
        unit="percent",
        counted="% of samples",
    )


def _distances(names: tuple[str, ...], matrix: FloatArray) -> Heatmap:
    return Heatmap(
        title="Distance between histograms",
        rows=names,
        columns=names,
        x=tuple(range(len(names))),
        x_title="GPU",
        values=tuple(map(tuple, matrix.tolist())),
        low=0.0,
        high=max(0.2, float(matrix.max())),
    )


def _sentence(labels: tuple[str, ...], matrix: FloatArray) -> str:
    row, column = np.unravel_index(int(matrix.argmax()), matrix.shape)
    return (
        f"{labels[int(row)]} and {labels[int(column)]} differ most: distance "
        f"{float(matrix.max()):.2f} (0: identical, 1: one idle, one busy)."
    )
