"""A job for who shows it: many charts ask the same, and no rule runs because somebody looks."""

from sonde.client.findings import Judgement
from sonde.client.job import Job
from sonde.client.shown_facts import Summary
from sonde.client.steps import Steps
from sonde.clock import Clock
from sonde.read.actions import read_actions
from sonde.read.findings import read_evaluations
from sonde.store.backends import Backend


class ShownJob(Job):
    """Remembers what it has read until it looks again."""

    def __init__(self, backend: Backend, clock: Clock | None = None) -> None:
        super().__init__(backend, clock)
        self._summary: Summary | None = None
        self._steps: dict[tuple[object, ...], Steps] = {}

    def refresh(self) -> "ShownJob":
        """Looks again at a job that still grows."""
        self._summary = None
        self._steps = {}
        super().refresh()
        return self

    @property
    def summary(self) -> Summary:
        """The status document, as of the last look."""
        if self._summary is None:
            self._summary = super().summary
        return Summary(self._summary)

    def steps(
        self,
        mode: str | None = "train",
        *,
        worker: int | str | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
    ) -> Steps:
        """Finished steps, as of the last look."""
        key = (mode, worker, start_step, end_step)
        if key not in self._steps:
            found = super().steps(mode, worker=worker, start_step=start_step, end_step=end_step)
            self._steps[key] = found
        return self._steps[key]

    def judgement(self) -> Judgement:
        """How rules stand, as it was recorded; where nothing was, nobody is asked."""
        recorded = read_evaluations(self._backend, [])
        return Judgement(self.name, recorded, read_actions(self._backend, []), self.seen)
