"""The interface of a chart: it turns a job into data that any front end can draw."""

from abc import ABC, abstractmethod
from typing import ClassVar

from sonde.records.chart import Spec
from sonde.results.job import JobResults

LAST = 1000


class Chart(ABC):
    """One chart. The first line of the docstring says what it shows."""

    title: ClassVar[str]
    # Pages of the dashboard that show it: `overview`, `nodes`, …
    pages: ClassVar[tuple[str, ...]] = ()
    # Section of the report that shows it, and its position there; equal positions sort by name.
    section: ClassVar[str] = ""
    order: ClassVar[int] = LAST
    # Position of its note in the summary at the top of the report; 0 if it is not part of it.
    headline: ClassVar[int] = 0
    # Rules whose findings it illustrates. The report collapses a section if its charts name rules
    # and none of them found anything.
    rules: ClassVar[tuple[str, ...]] = ()
    takes_node: ClassVar[bool] = False  # whether it can show a single node
    takes_worker: ClassVar[bool] = False  # whether it can show a single worker

    def __init__(self, *, node: str | None = None, worker: int | None = None) -> None:
        self.node = node
        self.worker = worker

    @abstractmethod
    def build(self, job: JobResults) -> Spec | None:
        """Build the chart for a job; None if the job has no data for it."""
