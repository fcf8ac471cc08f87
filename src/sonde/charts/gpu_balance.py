"""How alike the GPUs are used: a histogram of each, and how far apart they are."""

from collections.abc import Mapping

import numpy as np

from sonde.analyze.balance import BINS, Reals, distances, shares, unlike_the_mean
from sonde.charts._chart import Chart
from sonde.records.chart import Group, Heatmap, Histogram, Part, Spec
from sonde.results.job import JobResults
from sonde.results.machines import GPU, device_label, each_node

_MOST = 32  # whose distances are shown
_DRAWN = 8  # whose histograms are


class GpuBalance(Chart):
    """Workload balancing: utilization of every GPU as a histogram, and their distances."""

    title = "Workload balancing"
    pages = ("overview", "nodes")
    section = "balance"
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        found: dict[str, Reals] = {}
        nodes = job.nodes
        for samples in each_node(job, GPU, self.node):
            for device, values in zip(samples.devices, samples.values, strict=True):
                if not np.isnan(values).all():
                    found[device_label(samples.node, device, nodes)] = shares(values)
        if len(found) < 2:
            return None
        names = _unlike(found, _MOST)
        apart = distances([found[name] for name in names])
        is_cut = len(names) < len(found)
        cut = f"The {len(names)} that differ most, of {len(found):,} GPUs." if is_cut else ""
        return Group(
            title=self.title,
            note=_sentence(names, apart),
            coarsened=cut,
            parts=(_histogram(found), _distances(names, apart)),
        )


def _unlike(found: Mapping[str, Reals], most: int) -> tuple[str, ...]:
    labels = tuple(found)
    return tuple(labels[place] for place in unlike_the_mean(list(found.values()), most))


def _histogram(found: Mapping[str, Reals]) -> Histogram:
    return Histogram(
        title="Utilization of each GPU",
        edges=tuple(np.linspace(0, 100, BINS + 1).tolist()),
        parts=tuple(
            Part(label=name, values=tuple((100 * found[name]).tolist()))
            for name in _unlike(found, _DRAWN)
        ),
        unit="percent",
        counted="% of the samples",
    )


def _distances(names: tuple[str, ...], apart: Reals) -> Heatmap:
    return Heatmap(
        title="Distance between the histograms",
        rows=names,
        columns=names,
        x=tuple(range(len(names))),
        x_title="GPU",
        values=tuple(map(tuple, apart.tolist())),
        low=0.0,
        high=max(0.2, float(apart.max())),
    )


def _sentence(labels: tuple[str, ...], apart: Reals) -> str:
    row, column = np.unravel_index(int(apart.argmax()), apart.shape)
    return (
        f"{labels[int(row)]} and {labels[int(column)]} are furthest apart: "
        f"{float(apart.max()):.2f} (0 is the same, 1 idle against busy)."
    )
