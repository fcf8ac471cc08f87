"""The sections of the report, in the order in which questions come up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from sonde.charts import CHARTS
from sonde.records.chart import Spec

_ORDER = (
    *("job_details", "stages", "progress"),
    *("resources", "node_heatmap", "fleet"),
    *("mode_time", "phase_time", "device_time"),
    *("operators", "operator_phases", "general_operations"),
    *("step_statistics", "step_histogram", "throughput"),
    *("step_outliers", "outlier_phases", "outlier_system"),
    *("loading_advice", "loaders", "loading_times"),
    *("losses", "metrics", "learning_rate", "gradient_norms", "layers"),
    *("environment", "overhead", "method", "lost"),
)


@dataclass(frozen=True)
class Section:
    """A question, the charts that answer it, and the rules that make it worth a page."""

    name: str
    title: str
    rules: tuple[str, ...] = ()  # it is folded to a line unless one of them found something
    parts: "tuple[Section, ...]" = ()


SECTIONS = (
    Section("summary", "Training job summary"),
    Section("system", "System usage statistics"),
    Section("framework", "Framework metrics summary"),
    Section("rules", "Rules summary"),
    Section(
        "steps",
        "Step durations analysis",
        ("StepOutlier", "ThroughputDrop", "Straggler", "StalledTrainingRule"),
    ),
    Section(
        "gpus",
        "GPU utilization analysis",
        parts=(
            Section("gpu", "Usage per GPU", ("LowGPUUtilization", "IdleGPU", "GPUThrottling")),
            Section("balance", "Workload balancing", ("LoadBalancing", "Straggler")),
        ),
    ),
    Section(
        "loading",
        "Dataloading analysis",
        ("Dataloader", "DataLoaderStall", "DataLoaderStarvation"),
    ),
    Section(
        "limits",
        "Batch size, CPU, I/O and GPU memory",
        parts=(
            Section("batch", "Batch size", ("BatchSize",)),
            Section("cpu", "CPU bottlenecks", ("CPUBottleneck",)),
            Section("io", "I/O bottlenecks", ("IOBottleneck",)),
            Section("memory", "GPU memory", ("GPUMemoryIncrease",)),
        ),
    ),
    Section("tensors", "Tensors"),
    Section("environment", "Environment and method"),
)


@dataclass(frozen=True)
class Filled:
    """A section with what was found for it."""

    section: Section
    charts: Mapping[str, Spec] = field(default_factory=dict)
    parts: "tuple[Filled, ...]" = ()
    is_folded: bool = False

    @property
    def is_empty(self) -> bool:
        """Nothing of it was measured, so there is nothing to say."""
        return not self.charts and all(part.is_empty for part in self.parts)

    @property
    def sentence(self) -> str:
        """The whole in one line, where it is folded."""
        return next((one.note for one in self.charts.values() if one.note), "")


@cache
def charts_by_section() -> dict[str, list[str]]:
    """The names of all charts of the report, in their order; those of others come last."""
    found: dict[str, list[str]] = {}
    for name in CHARTS.names():
        section = CHARTS.load(name).section
        if section:
            found.setdefault(section, []).append(name)
    for names in found.values():
        names.sort(key=lambda name: (_place(name), name))
    return found


def fill(section: Section, specs: Mapping[str, Spec], fired: Sequence[str]) -> Filled:
    """A section with its charts; folded where rules looked after it and none found anything."""
    names = charts_by_section().get(section.name, [])
    charts = {name: specs[name] for name in names if name in specs}
    parts = tuple(fill(one, specs, fired) for one in section.parts)
    is_quiet = bool(section.rules) and not set(section.rules) & set(fired)
    return Filled(section, charts, parts, is_folded=is_quiet)


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
