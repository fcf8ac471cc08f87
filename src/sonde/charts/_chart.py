"""What a chart is: a question about a job, answered as data that anybody can draw."""

from abc import ABC, abstractmethod
from typing import ClassVar

from sonde.records.chart import Spec
from sonde.results.job import JobResults


class Chart(ABC):
    """One picture. The first line of the docstring says what it answers."""

    title: ClassVar[str]
    pages: ClassVar[tuple[str, ...]] = ()  # of the dashboard: `overview`, `nodes`, …
    section: ClassVar[str] = ""  # of the report
    takes_node: ClassVar[bool] = False  # whether it can be asked about one node
    takes_worker: ClassVar[bool] = False  # likewise

    def __init__(self, *, node: str | None = None, worker: int | None = None) -> None:
        self.node = node
        self.worker = worker

    @abstractmethod
    def build(self, job: JobResults) -> Spec | None:
        """The chart of a job; None where nothing was measured that it could show."""
