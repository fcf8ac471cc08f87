"""What a job answers about its profiles: the deep looks at a few of its steps."""

from abc import ABC, abstractmethod

from sonde.client.collectives import Collectives
from sonde.read.workers import WorkerReader


class Profiled(ABC):
    """The half of a job that profilers have filled."""

    @abstractmethod
    def _workers_of(self, worker: int | str | None) -> tuple[WorkerReader, ...]:
        """Readers of one rank, or of all of them."""

    def collectives(self, *, worker: int | str | None = None) -> Collectives:
        """Collectives that profilers saw, matched between workers: who waited for whom.

        Args:
            worker: One rank, which then is matched with nobody; all of them by default.
        """
        return Collectives(self._workers_of(worker))
