"""What show asks of a job: the words of `client.Job` that charts, report and dashboard use.

Show may not know the client; whoever opens a job hands it in, and it fits by its shape.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from sonde.analyze.breakdown import Breakdown
from sonde.analyze.gaps import Gap
from sonde.analyze.loading import LoaderReport
from sonde.analyze.operations import Profile
from sonde.read.jobs import JobFacts
from sonde.read.stages import StageSpan
from sonde.read.steps import StepTable
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerLife, WorkerReader
from sonde.records.finding import Evaluation
from sonde.records.job import JobState
from sonde.records.metric import Series
from sonde.show.rows import Documents, Rows
from sonde.show.tensor_views import TensorsView, TensorView
from sonde.show.timeline_views import PythonView, TimelineView


class StagesView(Rows, Protocol):
    """Initialization, training loop, finalization."""

    @property
    def spans(self) -> tuple[StageSpan, ...]:
        """One each; none where nothing trains."""


class SystemView(Rows, Protocol):
    """Series of machines."""

    @property
    def readers(self) -> tuple[SystemReader, ...]:
        """One per node."""

    @property
    def series(self) -> tuple[Series, ...]:
        """The series that fit, of all nodes."""

    def statistics(self) -> Rows:
        """Minimum, percentiles and maximum per node and series."""


class StepsView(Rows, Protocol):
    """Finished steps."""

    @property
    def readers(self) -> tuple[WorkerReader, ...]:
        """One per worker."""

    @property
    def tables(self) -> tuple[StepTable, ...]:
        """One per worker and mode."""

    @property
    def phases(self) -> tuple[str, ...]:
        """What adds up to a step."""

    def __len__(self) -> int: ...


class ScalarsView(Rows, Protocol):
    """Losses, learning rates, gradient norms, and what was logged."""

    @property
    def names(self) -> tuple[str, ...]:
        """The scalars that fit."""

    def reduced(self) -> Rows:
        """The mean over the workers per step."""

    def __len__(self) -> int: ...


class OperatorsView(Rows, Protocol):
    """What took the time in the windows of operators."""

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The windows."""

    @property
    def has_gpu(self) -> bool:
        """Whether anything ran on a device other than the host."""

    @property
    def wall_seconds(self) -> float:
        """How long the windows were, of all workers and devices together."""

    @property
    def steps(self) -> int:
        """How many steps the windows hold, of one worker."""

    def top(self, most: int | None = 20, by: str = "self") -> Rows:
        """Those that took the most time."""

    def phases(self) -> Rows:
        """The same by phase of the step."""

    def __len__(self) -> int: ...


class BreakdownsView(Rows, Protocol):
    """The time of each device of each worker, in parts."""

    @property
    def rows(self) -> tuple[Breakdown, ...]:
        """One per worker and device."""


class GapsView(Rows, Protocol):
    """When devices had nothing to do."""

    @property
    def rows(self) -> tuple[Gap, ...]:
        """Every stretch."""

    def causes(self) -> Documents:
        """By cause, the most first."""

    def places(self) -> Documents:
        """By cause and operator, the most first."""


class LoadersView(Documents, Protocol):
    """What data loaders cost."""

    @property
    def reports(self) -> tuple[LoaderReport, ...]:
        """One per loader and worker."""

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do, in words."""

    def __len__(self) -> int: ...


class JudgementView(Documents, Protocol):
    """How every rule stands."""

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """One per rule."""

    @property
    def verdict(self) -> str:
        """The whole in one sentence."""

    @property
    def findings(self) -> Documents:
        """What was found, causes before consequences."""

    def __iter__(self) -> Iterator[Evaluation]: ...


class JobView(Protocol):
    """One training run, live or over."""

    @property
    def name(self) -> str:
        """Its name: anybody's text."""

    @property
    def state(self) -> JobState:
        """Where it stands."""

    @property
    def facts(self) -> JobFacts:
        """Its attempts and workers, as records."""

    @property
    def summary(self) -> dict[str, Any]:
        """The status document."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The machines."""

    @property
    def workers(self) -> tuple[str, ...]:
        """The ranks."""

    @property
    def lives(self) -> tuple[WorkerLife, ...]:
        """Every start of a worker."""

    @property
    def stages(self) -> StagesView:
        """Initialization, training loop, finalization."""

    @property
    def losses(self) -> ScalarsView:
        """Every loss."""

    def system(
        self, metric: str = "*", *, device: str | None = None, node: str | None = None
    ) -> SystemView:
        """What the machines did."""

    def steps(self, mode: str | None = "train", *, worker: int | str | None = None) -> StepsView:
        """Finished steps and where their time went."""

    def events(
        self, name: str = "*", *, category: str | None = None, worker: int | str | None = None
    ) -> Rows:
        """Stretches of the workers' time lines."""

    def scalars(
        self, name: str = "*", *, mode: str | None = None, worker: int | str | None = None
    ) -> ScalarsView:
        """Losses, learning rates, gradient norms, and what was logged."""

    def tensors(self, name: str = "*", *, collection: str | None = None) -> TensorsView:
        """Names of tensors."""

    def tensor(self, name: str) -> TensorView:
        """One tensor."""

    def operators(
        self, device: str | None = None, *, by: str = "operator", worker: int | str | None = None
    ) -> OperatorsView:
        """What took the time in the windows of operators."""

    def breakdown(self, *, worker: int | str | None = None) -> BreakdownsView:
        """Where the time of each device went."""

    def gaps(self, *, worker: int | str | None = None) -> GapsView:
        """When devices had nothing to do, and why."""

    def dataloader(self, *, worker: int | str | None = None) -> LoadersView:
        """What data loaders cost."""

    def memory(self, *, by: str = "step", worker: int | str | None = None) -> Documents:
        """What tensors held in the windows of memory."""

    def collectives(self, *, worker: int | str | None = None) -> Rows:
        """Collectives that profilers saw."""

    def python(
        self,
        profiler: str | None = None,
        *,
        mode: str | None = None,
        phase: str | None = None,
        thread: str | None = None,
        steps: tuple[int | None, int | None] = (None, None),
        worker: int | str | None = None,
    ) -> PythonView:
        """Where Python spent its time in the windows of Python."""

    def timeline(
        self,
        *,
        worker: int | str | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> TimelineView:
        """What workers did and machines measured, on one clock, by steps or by time."""

    def judgement(self) -> JudgementView:
        """How every rule stands."""


def only(texts: Sequence[str], most: int) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"
