"""How full the memory of the GPUs was over time."""

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.machines import GPU_MEMORY, device_label, readers_of, series_of
from sonde.show.specs import Curve, LineChart, Reals, Spec
from sonde.show.units import percent

_POINTS = 240
_MOST = 8  # curves: those that grew most


class GpuMemory(Chart):
    """GPU memory over time, device by device."""

    title = "GPU memory"
    pages = ("overview",)
    section = "memory"
    takes_node = True

    def build(self, job: JobView) -> Spec | None:
        start_ns = job.facts.start_ns or 0
        found: list[tuple[float, str, Reals, Reals]] = []
        nodes = job.nodes
        for reader in readers_of(job, self.node):
            series = series_of(reader, GPU_MEMORY)
            if not series:
                continue
            rollup = reader.buckets(series, _POINTS)
            x = tuple(((rollup.starts_ns - start_ns) / NANOSECONDS).tolist())
            for one, row in zip(series, rollup.mean, strict=True):
                known = row[~np.isnan(row)]
                if len(known):
                    grown = float(known[-1] - known[0])
                    label = device_label(reader.node, one.device, nodes)
                    found.append((grown, label, x, tuple(row.tolist())))
        if not found:
            return None
        shown = sorted(found, key=lambda one: -one[0])[:_MOST]
        shown.sort(key=found.index)
        grown, label = max((one[0], one[1]) for one in found)
        highest = max(float(np.nanmax(np.array(one[3], dtype=np.float64))) for one in found)
        is_cut = len(shown) < len(found)
        return LineChart(
            title=self.title,
            note=(
                f"The fullest was {percent(highest)}; {label} grew most, by {grown:+.1f} points."
            ),
            coarsened=f"The {_MOST} that grew most, of {len(found):,} GPUs." if is_cut else "",
            x=max((one[2] for one in shown), key=len),
            x_title="Time since the start",
            x_unit="seconds",
            unit="percent",
            curves=tuple(Curve(label=one[1], values=one[3]) for one in shown),
            low=0.0,
            high=100.0,
        )
