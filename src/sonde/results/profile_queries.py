"""Queries about a job's profiles: operators, Python, data loading, memory, the timeline."""

from collections.abc import Sequence

from sonde.read.open_job import OpenJob
from sonde.read.operator_profiles import StepWork, read_step_work
from sonde.records.ranges import TimeRange
from sonde.results.arguments import checked_steps
from sonde.results.collectives import Collectives
from sonde.results.idle import Breakdowns, Gaps
from sonde.results.loading import Loaders
from sonde.results.memory import memory_of
from sonde.results.names import known_mode
from sonde.results.operators import Operators
from sonde.results.python_profile import PythonChoice, PythonTime
from sonde.results.record_rows import RecordRows
from sonde.results.timeline import Timeline
from sonde.results.times import Moment, instant_of


class ProfileQueries:
    """Queries about the profiles of a job."""

    def __init__(self, opened: OpenJob) -> None:
        self._opened = opened

    def operators(
        self,
        device: str | None = None,
        *,
        by: str = "operator",
        worker: int | str | None = None,
    ) -> Operators:
        """Time by operator in the profiled steps.

        Args:
            device: `cpu` for threads of the host, or `gpu`; by default the GPU if one was used.
            by: `operator`, `module`, `phase`, or `kernel`.
            worker: One rank; all of them by default.
        """
        return self._opened.cached(
            ("operators", device, by, worker),
            lambda: Operators(self._opened.workers(worker), device, by),
        )

    def step_work(self, worker: int | str) -> StepWork | None:
        """The work of a profiled step of a worker; None if it is not known."""
        return self._opened.cached(
            ("step work", worker), lambda: read_step_work(self._opened.workers(worker)[0])
        )

    def breakdown(self, *, worker: int | str | None = None) -> Breakdowns:
        """Where the time of each device went: compute, communication, copies, idle.

        Args:
            worker: One rank; all of them by default.
        """
        return self.operators(worker=worker).breakdown()

    def gaps(self, *, worker: int | str | None = None) -> Gaps:
        """When devices were idle, and why: the host, data, synchronization.

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
        """Profiled collectives, matched between workers: which worker waited for which.

        Args:
            worker: One rank, not matched with others; all of them by default.
            start_step: The first training step.
            end_step: The training step to stop before.
        """
        return self._opened.cached(
            ("collectives", worker, start_step, end_step),
            lambda: Collectives(
                self._opened.workers(worker), checked_steps((start_step, end_step))
            ),
        )

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
        """Time by Python function in the profiled steps.

        Args:
            profiler: `stacks` or `cprofile`; the one used last by default.
            mode: Only in `train`, `eval` or `predict`.
            phase: Only in a phase, such as `forward`.
            thread: A thread's name, or `*` for all; the training thread by default.
            steps: The first step and the step to stop before; None for no limit.
            worker: One rank; all of them by default.
        """
        valid_mode = None if mode is None else known_mode(mode)
        choice = PythonChoice(profiler, valid_mode, phase, thread, checked_steps(steps))
        return self._opened.cached(
            ("python", choice, worker),
            lambda: PythonTime(self._opened.workers(worker), choice, self._instant),
        )

    def dataloader(self, *, worker: int | str | None = None) -> Loaders:
        """Cost of the data loaders, where the time of a batch goes, and advice.

        Args:
            worker: One rank; all of them by default.
        """
        opened = self._opened
        return opened.cached(
            ("dataloader", worker),
            lambda: Loaders(opened.workers(worker), opened.workers(), opened.nodes()),
        )

    def memory(self, *, by: str = "step", worker: int | str | None = None) -> RecordRows:
        """Memory held by tensors in the profiled steps.

        Args:
            by: `step` or `module`.
            worker: One rank; all of them by default.
        """
        return self._opened.cached(
            ("memory", by, worker), lambda: memory_of(self._opened.workers(worker), by)
        )

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
        """Events of workers and metrics of machines on one clock, by steps or by time.

        Args:
            worker: One rank; all of them by default.
            start_step: The first training step.
            end_step: The training step to stop before.
            start: A time, as for `system`, if no steps are given.
            end: A time, not included.
            metrics: A pattern of metrics such as `gpu.*`, or several.
        """
        patterns = (metrics,) if isinstance(metrics, str) else tuple(metrics)
        opened = self._opened
        return opened.cached(
            ("timeline", worker, start_step, end_step, start, end, patterns),
            lambda: Timeline(
                opened.name,
                opened.workers(worker),
                opened.nodes(),
                self._instant,
                TimeRange(self._instant(start), self._instant(end)),
                checked_steps((start_step, end_step)),
                patterns,
                opened.workers(),
            ),
        )

    def _instant(self, moment: Moment) -> int | None:
        """A time given by a caller, on the job's clock."""
        return instant_of(moment, self._opened.facts.start_ns or 0)
