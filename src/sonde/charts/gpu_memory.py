"""GPU memory over time."""

from collections.abc import Iterator, Sequence

import numpy as np

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.read.system import SystemReader
from sonde.records.chart import Curve, LineChart, Reals, Spec
from sonde.records.ranges import TimeRange
from sonde.results.job import JobResults
from sonde.results.machines import GPU_MEMORY, device_label, readers_of, series_of
from sonde.store.rollups import Floats, Instants

_POINTS = 240
_MAX_CURVES = 8  # the curves that grew most


class GpuMemory(Chart):
    """GPU memory over time, one curve per GPU."""

    title = "GPU memory"
    overview = OverviewPlace(OverviewSection.RESOURCES, order=4)
    section = "memory"
    rules = ("GPUMemoryIncrease",)
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        start_ns = job.facts.start_ns or 0
        axis, curves = _curves(list(_buckets(readers_of(job, self.node))), job.nodes)
        if not curves:
            return None
        shown = sorted(curves, key=lambda each: -each[0])[:_MAX_CURVES]
        shown.sort(key=curves.index)
        grown, label = max((each[0], each[1]) for each in curves)
        highest = max(float(np.nanmax(np.array(each[2], dtype=np.float64))) for each in curves)
        is_truncated = len(shown) < len(curves)
        return LineChart(
            title=self.title,
            note=(
                f"Peak {format_percent(highest)}. {label} grew most: "
                f"{grown:+.1f} percentage points."
            ),
            coarsened=f"Only the {_MAX_CURVES} of {len(curves):,} GPUs that grew most are shown."
            if is_truncated
            else "",
            x=tuple(((axis - start_ns) / NANOSECONDS).tolist()),
            x_title="Time since start",
            x_unit="seconds",
            unit="percent",
            curves=tuple(Curve(label=each[1], values=each[2]) for each in shown),
            low=0.0,
            high=100.0,
        )


def _curves(
    buckets: Sequence[tuple[str, str, Instants, Floats]], nodes: Sequence[str]
) -> tuple[Instants, list[tuple[float, str, Reals]]]:
    """The common time axis; growth, label and values of each GPU."""
    starts = [starts_ns for _, _, starts_ns, _ in buckets]
    axis = np.unique(np.concatenate([np.empty(0, np.int64), *starts]))
    curves: list[tuple[float, str, Reals]] = []
    for node, device, starts_ns, row in buckets:
        finite = row[~np.isnan(row)]
        if len(finite):
            values = np.full(len(axis), np.nan)
            values[np.searchsorted(axis, starts_ns)] = row
            label = device_label(node, device, nodes)
            curves.append((float(finite[-1] - finite[0]), label, tuple(values.tolist())))
    return axis, curves


def _buckets(
    readers: Sequence[SystemReader],
) -> Iterator[tuple[str, str, Instants, Floats]]:
    """Node, device, bucket starts and memory; all buckets have the same width."""
    spans = [extent for reader in readers if (extent := reader.extent) is not None]
    if not spans:
        return
    within = TimeRange(
        min(span.first_ns for span in spans), max(span.last_ns for span in spans) + 1
    )
    for reader in readers:
        series = series_of(reader, GPU_MEMORY)
        if not series:
            continue
        rollup = reader.buckets(series, _POINTS, within)
        for each, row in zip(series, rollup.mean, strict=True):
            yield reader.node, each.device, rollup.starts_ns, row
