"""Distribution of the utilization of each GPU."""

from sonde.analyze.balance import quartiles_of
from sonde.charts._chart import Chart
from sonde.formats import format_percent
from sonde.records.chart import Box, BoxPlot, Spec
from sonde.results.job import JobResults
from sonde.results.machines import GPU, device_label, each_node

_MOST = 32


class GpuUsage(Chart):
    """Utilization per GPU: boxes from p25 to p75, whiskers from p5 to p95."""

    title = "Usage per GPU"
    pages = ("overview", "nodes")
    section = "gpu"
    headline = 4
    rules = ("LowGPUUtilization", "IdleGPU", "GPUThrottling")
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        boxes = []
        nodes = job.nodes
        for samples in each_node(job, GPU, self.node):
            for device, values in zip(samples.devices, samples.values, strict=True):
                found = quartiles_of(values)
                if found.count:
                    numbers = {name: getattr(found, name) for name in found.__slots__}
                    label = device_label(samples.node, device, nodes)
                    boxes.append(Box(label=label, tone="gpu", **numbers))
        if not boxes:
            return None
        shown = sorted(sorted(boxes, key=lambda one: one.p50)[:_MOST], key=boxes.index)
        is_cut = len(shown) < len(boxes)
        return BoxPlot(
            title=self.title,
            note=_sentence(boxes),
            coarsened=f"Only the {len(shown)} least used of {len(boxes):,} GPUs are shown."
            if is_cut
            else "",
            boxes=tuple(shown),
            unit="percent",
            low=0.0,
            high=100.0,
        )


def _sentence(boxes: list[Box]) -> str:
    least, most = (key(boxes, key=lambda one: one.p50) for key in (min, max))
    if least is most:
        return (
            f"{least.label}: median utilization {format_percent(least.p50)} "
            f"(p5 {format_percent(least.p5)}, p95 {format_percent(least.p95)})."
        )
    return (
        f"Median utilization of {len(boxes)} GPUs: {format_percent(least.p50)} ({least.label}) "
        f"to {format_percent(most.p50)} ({most.label})."
    )
