"""The interface of a chart: it turns a job into data that any front end can draw."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from sonde.records.chart import Spec
from sonde.records.need import Need
from sonde.records.ranges import ANY_STEP, StepRange
from sonde.results.job import JobResults

LAST = 1000


class OverviewSection(StrEnum):
    """A section of the Overview page of the dashboard, in the order of the page."""

    ADVICE = "Advice"  # the card at the top
    SUMMARY = "Summary"  # the card below it
    TRAINING = "Training"
    TREES = "Boosted trees"
    RESOURCES = "Resources"
    OPERATIONS = "Operations and steps"
    RECORDING = "Recording"


class ChartSize(StrEnum):
    """The space that a chart takes in its section."""

    HALF = "half"  # half of the width, if the screen is wide enough
    WIDE = "wide"  # the full width
    TALL = "tall"  # as high as two charts; in the summary, the right half


@dataclass(frozen=True, slots=True)
class OverviewPlace:
    """The place of a chart on the Overview page."""

    section: OverviewSection
    order: int = LAST  # position in the section; equal positions sort by name
    size: ChartSize = ChartSize.HALF
    title: str | None = None  # its heading there, if it isn't the chart's title
    empty: str | None = None  # the text if the job has no data for it; otherwise it is hidden


class Chart(ABC):
    """One chart. The first line of the docstring says what it shows."""

    title: ClassVar[str]
    # Place on the Overview page of the dashboard; None if that page does not show it.
    overview: ClassVar[OverviewPlace | None] = None
    # Section of the report that shows it, and its position there; equal positions sort by name.
    section: ClassVar[str] = ""
    order: ClassVar[int] = LAST
    # Position of its note in the summary at the top of the report; 0 if it is not part of it.
    headline: ClassVar[int] = 0
    # Rules whose findings it illustrates. The report collapses a section if its charts name rules
    # and none of them found anything.
    rules: ClassVar[tuple[str, ...]] = ()
    # Data that it shows over steps. Findings of rules that need this data are drawn on it, and it
    # is shown with these findings.
    draws: ClassVar[tuple[Need, ...]] = ()
    # Preference among the three charts below the verdict of the Overview page: the lowest first;
    # 0 if it is only shown there for a finding that it illustrates.
    key: ClassVar[int] = 0
    takes_node: ClassVar[bool] = False  # whether it can show a single node
    takes_worker: ClassVar[bool] = False  # whether it can show a single worker

    takes_steps: ClassVar[bool] = False  # whether it can show a range of steps in full detail

    def __init__(
        self,
        *,
        node: str | None = None,
        worker: int | None = None,
        steps: StepRange = ANY_STEP,
    ) -> None:
        self.node = node
        self.worker = worker
        self.steps = steps

    @abstractmethod
    def build(self, job: JobResults) -> Spec | None:
        """Build the chart for a job; None if the job has no data for it."""
