"""How alike the GPUs are used: a histogram of each, and how far apart they are."""

import numpy as np

from sonde.analyze.balance import BINS, Reals, distances, shares, unlike_the_mean
from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.machines import GPU, device_label, each_node
from sonde.show.specs import Group, Heatmap, Histogram, Part, Spec

_MOST = 32  # whose distances are shown
_DRAWN = 8  # whose histograms are


class GpuBalance(Chart):
    """Workload balancing: utilization of every GPU as a histogram, and their distances."""

    title = "Workload balancing"
    pages = ("overview", "nodes")
    section = "balance"
    takes_node = True

    def build(self, job: JobView) -> Spec | None:
        found: dict[str, Reals] = {}
        nodes = job.nodes
        for samples in each_node(job, GPU, self.node):
            for device, values in zip(samples.devices, samples.values, strict=True):
                if not np.isnan(values).all():
                    found[device_label(samples.node, device, nodes)] = shares(values)
        if len(found) < 2:
            return None
        labels = tuple(found)
        names = tuple(labels[place] for place in unlike_the_mean(list(found.values()), _MOST))
        apart = distances([found[name] for name in names])
        is_cut = len(names) < len(labels)
        cut = f"The {len(names)} that differ most, of {len(labels):,} GPUs." if is_cut else ""
        edges = tuple(np.linspace(0, 100, BINS + 1).tolist())
        drawn = [labels[place] for place in unlike_the_mean(list(found.values()), _DRAWN)]
        parts = tuple(
            Part(label=name, values=tuple((100 * found[name]).tolist())) for name in drawn
        )
        return Group(
            title=self.title,
            note=_sentence(names, apart),
            coarsened=cut,
            parts=(
                Histogram(
                    title="Utilization of each GPU",
                    edges=edges,
                    parts=parts,
                    unit="percent",
                    counted="% of the samples",
                ),
                Heatmap(
                    title="Distance between the histograms",
                    rows=names,
                    columns=names,
                    x=tuple(range(len(names))),
                    x_title="GPU",
                    values=tuple(map(tuple, apart.tolist())),
                    low=0.0,
                    high=max(0.2, float(apart.max())),
                ),
            ),
        )


def _sentence(labels: tuple[str, ...], apart: Reals) -> str:
    row, column = np.unravel_index(int(apart.argmax()), apart.shape)
    return (
        f"{labels[int(row)]} and {labels[int(column)]} are furthest apart: "
        f"{float(apart.max()):.2f} (0 is the same, 1 idle against busy)."
    )
