"""Distribution of the utilization of each GPU."""

from sonde.analyze.balance import quartiles_of
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.formats import format_percent
from sonde.records.chart import Box, BoxPlot, Spec
from sonde.results.job import JobResults
from sonde.results.machines import GPU, device_label, each_node

_MAX_BOXES = 32
_MAX_NATURAL = 16  # in the order of the devices; more are sorted by utilization, lowest first


class GpuUsage(Chart):
    """Utilization per GPU: boxes from p25 to p75, whiskers from p5 to p95."""

    title = "Usage per GPU"
    overview = OverviewPlace(OverviewSection.RESOURCES, order=2)
    section = "gpu"
    headline = 5
    rules = ("LowGPUUtilization", "IdleGPU", "GPUThrottling")
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        boxes = []
        nodes = job.nodes
        for samples in each_node(job, GPU, self.node):
            for device, values in zip(samples.devices, samples.values, strict=True):
                quartiles = quartiles_of(values)
                if quartiles.count:
                    numbers = {name: getattr(quartiles, name) for name in quartiles.__slots__}
                    label = device_label(samples.node, device, nodes)
                    boxes.append(Box(label=label, tone="gpu", **numbers))
        if not boxes:
            return None
        shown = boxes
        if len(boxes) > _MAX_NATURAL:
            shown = sorted(boxes, key=lambda box: box.p50)[:_MAX_BOXES]
        is_truncated = len(shown) < len(boxes)
        return BoxPlot(
            title=self.title,
            note=_sentence(boxes),
            coarsened=f"Only the {len(shown)} least used of {len(boxes):,} GPUs are shown."
            if is_truncated
            else "",
            boxes=tuple(shown),
            unit="percent",
            low=0.0,
            high=100.0,
        )


def _sentence(boxes: list[Box]) -> str:
    lowest, highest = (key(boxes, key=lambda box: box.p50) for key in (min, max))
    if lowest is highest:
        return (
            f"{lowest.label}: median utilization {format_percent(lowest.p50)} "
            f"(p5 {format_percent(lowest.p5)}, p95 {format_percent(lowest.p95)})."
        )
    return (
        f"Median utilization of {len(boxes)} GPUs: {format_percent(lowest.p50)} ({lowest.label}) "
        f"to {format_percent(highest.p50)} ({highest.label})."
    )
