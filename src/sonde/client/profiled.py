"""What a job answers about its profiles: the deep looks at a few of its steps."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sonde.client.asked import known_mode
from sonde.client.collectives import Collectives
from sonde.client.idle import Breakdowns, Gaps
from sonde.client.loading import Loaders
from sonde.client.memory import memory_of
from sonde.client.moments import Moment
from sonde.client.operators import Operators
from sonde.client.python_profile import PythonChoice, PythonTime
from sonde.client.record_rows import RecordRows
from sonde.client.timeline import Timeline
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.ranges import StepRange, TimeRange


class Profiled(ABC):
    """The half of a job that profilers have filled."""

    @abstractmethod
    def _workers_of(self, worker: int | str | None) -> tuple[WorkerReader, ...]:
        """Readers of one rank, or of all of them."""

    @abstractmethod
    def _systems(self) -> tuple[SystemReader, ...]:
        """Readers of all nodes."""

    @abstractmethod
    def _instant(self, moment: Moment) -> int | None:
        """A moment on the job's time line."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The job's name."""

    def operators(
        self,
        device: str | None = None,
        *,
        by: str = "operator",
        worker: int | str | None = None,
    ) -> Operators:
        """What took the time in the windows of operators.

        Args:
            device: `cpu`, what the host's threads did, or `gpu`, what the devices did; without a
                word the GPU, where one was used.
            by: `operator`, `module`, `phase`, or `kernel`.
            worker: One rank; all of them by default.
        """
        return Operators(self._workers_of(worker), device, by)

    def breakdown(self, *, worker: int | str | None = None) -> Breakdowns:
        """Where the time of each device went: compute, communication, copies, idle.

        Args:
            worker: One rank; all of them by default.
        """
        return self.operators(worker=worker).breakdown()

    def gaps(self, *, worker: int | str | None = None) -> Gaps:
        """When devices had nothing to do, and why: the host, data, synchronization.

        Args:
            worker: One rank; all of them by default.
        """
        return self.operators(worker=worker).gaps()

    def collectives(
        self,
        *,
        worker: int | str | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
    ) -> Collectives:
        """Collectives that profilers saw, matched between workers: who waited for whom.

        Args:
            worker: One rank, which then is matched with nobody; all of them by default.
            start_step: The first training step.
            end_step: The first training step that is not wanted any more.
        """
        return Collectives(self._workers_of(worker), StepRange(start_step, end_step))

    def python(
        self,
        profiler: str | None = None,
        *,
        mode: str | None = None,
        phase: str | None = None,
        thread: str | None = None,
        steps: tuple[int | None, int | None] = (None, None),
        worker: int | str | None = None,
    ) -> PythonTime:
        """Where Python spent its time in the windows of Python.

        Args:
            profiler: `stacks` or `cprofile`; that of the last window by default.
            mode: Only in `train`, `eval` or `predict`.
            phase: Only in a phase, such as `forward`.
            thread: A thread's name, or `*` for all; the one that trains by default.
            steps: The first step, and the first one that is not wanted any more; None is open.
            worker: One rank; all of them by default.
        """
        asked = None if mode is None else known_mode(mode)
        choice = PythonChoice(profiler, asked, phase, thread, StepRange(*steps))
        return PythonTime(self._workers_of(worker), choice, self._instant)

    def dataloader(self, *, worker: int | str | None = None) -> Loaders:
        """What data loaders cost, where the time of a batch goes, and what to do about it.

        Args:
            worker: One rank; all of them by default.
        """
        return Loaders(self._workers_of(worker), self._workers_of(None), self._systems())

    def memory(self, *, by: str = "step", worker: int | str | None = None) -> RecordRows:
        """What tensors held in the windows of memory.

        Args:
            by: `step` or `module`.
            worker: One rank; all of them by default.
        """
        return memory_of(self._workers_of(worker), by)

    def timeline(
        self,
        *,
        worker: int | str | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
        start: Moment = None,
        end: Moment = None,
        metrics: str | Sequence[str] = "*",
    ) -> Timeline:
        """What workers did and machines measured, on one clock, by steps or by time.

        Args:
            worker: One rank; all of them by default.
            start_step: The first training step.
            end_step: The first training step that is not wanted any more.
            start: A moment, as for `system`, if no steps are given.
            end: Likewise; not included.
            metrics: A pattern of metrics such as `gpu.*`, or several.
        """
        return Timeline(
            self.name,
            self._workers_of(worker),
            self._systems(),
            self._instant,
            TimeRange(self._instant(start), self._instant(end)),
            StepRange(start_step, end_step),
            (metrics,) if isinstance(metrics, str) else tuple(metrics),
            self._workers_of(None),
        )
