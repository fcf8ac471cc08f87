"""The sections of the report, and the charts that charts themselves assign to them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

from sonde.charts import CHARTS
from sonde.records.chart import Spec


@dataclass(frozen=True)
class Section:
    """A heading of the report; charts name the section they belong to."""

    name: str
    title: str
    subsections: "tuple[Section, ...]" = ()
    is_printed: bool = False  # in full, even if it is collapsed on the screen
    stays_open: bool = False  # also if none of the rules of its charts has found anything


SECTIONS = (
    Section("advice", "What would make it faster"),
    Section("summary", "Training job summary"),
    Section("system", "System usage statistics"),
    Section("framework", "Framework metrics summary"),
    Section("rules", "Rules summary"),
    Section("steps", "Step duration analysis", is_printed=True),
    Section(
        "gpus",
        "GPU utilization analysis",
        (Section("gpu", "Usage per GPU"), Section("balance", "Workload balancing")),
    ),
    Section("loading", "Data loading analysis"),
    Section(
        "limits",
        "Batch size, CPU, I/O and GPU memory",
        (
            Section("batch", "Batch size"),
            Section("cpu", "CPU bottlenecks"),
            Section("io", "I/O bottlenecks"),
            Section("memory", "GPU memory"),
        ),
    ),
    Section("tensors", "Tensors"),
    Section("trees", "Boosted trees", stays_open=True),
    Section("environment", "Environment and method"),
)


@dataclass(frozen=True)
class FilledSection:
    """A section with its charts."""

    section: Section
    charts: Mapping[str, Spec] = field(default_factory=dict)
    subsections: "tuple[FilledSection, ...]" = ()
    is_collapsed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no chart of it or of its subsections has data."""
        return not self.charts and all(inner.is_empty for inner in self.subsections)

    @property
    def sentence(self) -> str:
        """The line shown if the section is collapsed: the first note of its charts."""
        return next((spec.note for spec in self.charts.values() if spec.note), "")


@cache
def charts_by_section() -> dict[str, list[str]]:
    """Names of the report's charts by section, in the order the charts declare."""
    names_by_section: dict[str, list[str]] = {}
    for name in sorted(CHARTS.names(), key=lambda name: (CHARTS.load(name).order, name)):
        section = CHARTS.load(name).section
        if section:
            names_by_section.setdefault(section, []).append(name)
    return names_by_section


def fill(section: Section, specs: Mapping[str, Spec], fired: Collection[str]) -> FilledSection:
    """Put charts into a section; collapse it if its charts have rules and none of them fired.

    Args:
        section: The section.
        specs: All charts that have data, by name.
        fired: Names of the rules with findings.
    """
    names = charts_by_section().get(section.name, [])
    rules = {rule for name in names for rule in CHARTS.load(name).rules}
    return FilledSection(
        section,
        {name: specs[name] for name in names if name in specs},
        tuple(fill(inner, specs, fired) for inner in section.subsections),
        is_collapsed=bool(rules) and not section.stays_open and rules.isdisjoint(fired),
    )
