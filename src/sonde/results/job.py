"""Queries of one opened job, shared by charts, dashboard, report, terminal and client."""

from typing import Any

from sonde.read.actions import read_actions
from sonde.read.evaluations import read_evaluations as read_evaluation_runs
from sonde.read.findings import evaluation_document, read_evaluations
from sonde.read.inventory import check_files
from sonde.read.jobs import JobFacts
from sonde.read.open_job import OpenJob
from sonde.read.scalars import Losses, Matching, ScalarQuestion
from sonde.read.stages import find_stages, read_marks
from sonde.read.status import job_coverage, status_document
from sonde.read.training import read_training, recorded_steps
from sonde.records.advice import Advice
from sonde.records.job import JobState
from sonde.records.ranges import TimeRange
from sonde.records.seen import Seen
from sonde.records.step import Mode
from sonde.results.advice import advice_on
from sonde.results.arguments import checked_steps
from sonde.results.evaluations import Evaluations
from sonde.results.events import Events, Stages
from sonde.results.facts import Lives
from sonde.results.findings import Judgement
from sonde.results.names import known_mode
from sonde.results.observations import Observations
from sonde.results.profile_queries import ProfileQueries
from sonde.results.rule_coverage import coverage_in
from sonde.results.scalars import Scalars
from sonde.results.selection import Selection
from sonde.results.steps import Steps
from sonde.results.system import SystemMetrics
from sonde.results.tensor_lookup import tensor_of
from sonde.results.tensors import Tensor, Tensors
from sonde.results.times import Moment


class JobResults(ProfileQueries):
    """Everything recorded of one job; no query runs a rule or writes anything."""

    def __init__(self, opened: OpenJob, judgement: Judgement | None = None) -> None:
        """Query a job.

        Args:
            opened: The job.
            judgement: Shown instead of what rules recorded.
        """
        super().__init__(opened)
        self._judgement = judgement
        check_files(opened.backend, opened.facts)

    def with_judgement(self, judgement: Judgement) -> "JobResults":
        """The same job, with the evaluations of rules that were run just now."""
        return JobResults(self._opened, judgement)

    @property
    def name(self) -> str:
        """The job's name."""
        return self.facts.name

    @property
    def uri(self) -> str:
        """The location of the job's folder."""
        return self._opened.backend.uri

    @property
    def state(self) -> JobState:
        """The job's state, as of the last refresh."""
        return self.facts.state

    @property
    def facts(self) -> JobFacts:
        """The job's attempts, nodes and workers, as records."""
        return self._opened.facts

    @property
    def summary(self) -> dict[str, Any]:
        """The status document: state, exit, times, stages, steps, overhead, lost data.

        Damage to samples is included once the samples have been read.
        """
        return dict(self._opened.cached("summary", self._read_summary))

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes the job runs or ran on."""
        return self.facts.nodes

    @property
    def workers(self) -> tuple[str, ...]:
        """The ranks of the job's training processes."""
        return self.facts.workers

    @property
    def lives(self) -> Lives:
        """Every start of a worker: node, device, progress, and why it failed."""
        return Lives(self.facts.lives)

    @property
    def stages(self) -> Stages:
        """Initialization, training loop and finalization: when each began and how long it took."""
        return self._opened.cached("stages", self._read_stages)

    @property
    def seen(self) -> Seen:
        """Whether training was recorded, and if not, why."""
        opened = self._opened
        return job_coverage(opened.facts, recorded_steps(opened), opened.clock.now_ns())

    def refresh(self) -> "JobResults":
        """Read what a running job has added since the last refresh."""
        self._opened.refresh()
        check_files(self._opened.backend, self.facts)
        return self

    def judgement(self) -> Judgement:
        """The status of every rule, as recorded; empty if no rules have run."""
        if self._judgement is not None:
            return self._judgement
        backend = self._opened.backend
        evaluations = read_evaluations(backend, [])
        return Judgement(self.name, evaluations, read_actions(backend, []), self.seen)

    def advice(self) -> Advice:
        """What would make the job faster, as recorded findings predict it."""
        return advice_on(self.judgement().evaluations, self.seen)

    def system(
        self,
        metric: str = "*",
        *,
        device: str | None = None,
        node: str | None = None,
        start: Moment = None,
        end: Moment = None,
    ) -> SystemMetrics:
        """Metrics of the machines.

        Args:
            metric: A metric's name, or a pattern such as `gpu.*`.
            device: One device, such as `gpu0`, or a pattern; all of them by default.
            node: One node; all of them by default.
            start: A date and time, an ISO text (UTC unless it names its zone), or seconds since
                the job began.
            end: Likewise; not included.
        """
        within = TimeRange(self._instant(start), self._instant(end))
        return self._opened.cached(
            ("system", metric, device, node, within),
            lambda: SystemMetrics(
                self._opened.nodes(node), metric, device, within, self.facts.start_ns
            ),
        )

    def steps(
        self,
        mode: str | None = "train",
        *,
        worker: int | str | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
    ) -> Steps:
        """Finished steps and where their time went.

        Args:
            mode: `train`, `eval` or `predict`; None for all of them.
            worker: One rank; all of them by default.
            start_step: The first step.
            end_step: The step to stop before.
        """
        modes = tuple(each.value for each in Mode) if mode is None else (known_mode(mode),)
        within = checked_steps((start_step, end_step))
        return self._opened.cached(
            ("steps", modes, worker, within),
            lambda: Steps(self._opened.workers(worker), modes, within, self._opened.nodes),
        )

    def events(
        self,
        name: str = "*",
        *,
        category: str | None = None,
        worker: int | str | None = None,
        steps: tuple[int | None, int | None] = (None, None),
        start: Moment = None,
        end: Moment = None,
    ) -> Events:
        """Events on the workers' timelines: steps, phases, and named ranges of the script.

        Args:
            name: An event's name, or a pattern such as `data_*`.
            category: `step`, `phase`, `user` or `device`.
            worker: One rank; all of them by default.
            steps: The first step and the step to stop before; None for no limit.
            start: A time, as for `system`; events that begin then or later.
            end: Likewise; not included.
        """
        within = TimeRange(self._instant(start), self._instant(end))
        readers = self._opened.workers(worker)
        return Events(readers, name, category, within, checked_steps(steps))

    @property
    def losses(self) -> Scalars:
        """Every loss the hook recorded; if there is none, what was logged as `loss`."""
        return self._opened.cached("losses", self._read_losses)

    @property
    def evaluations(self) -> Evaluations:
        """The result of every evaluation: its name, training step, samples and mean loss."""
        return Evaluations(read_evaluation_runs(self._opened.workers()))

    def scalars(
        self,
        name: str = "*",
        *,
        mode: str | None = None,
        worker: int | str | None = None,
        source: str | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
    ) -> Scalars:
        """Losses, learning rates, gradient norms, and logged values.

        Args:
            name: A scalar's name, or a pattern such as `learning_rate/*`.
            mode: `train`, `eval` or `predict`; all of them by default.
            worker: One rank; all of them by default.
            source: Where it came from: `hook`, `log`, `lightning`, `huggingface`.
            start_step: The first step.
            end_step: The step to stop before.
        """
        valid_mode = None if mode is None else known_mode(mode)
        steps = checked_steps((start_step, end_step))
        question = ScalarQuestion(Matching(name), valid_mode, source, steps)
        return self._opened.cached(
            ("scalars", name, valid_mode, source, steps, worker),
            lambda: Scalars(self._opened.workers(worker), question),
        )

    def observations(self, kind: str = "*", *, worker: int | str | None = None) -> Observations:
        """Facts the hook reported without a threshold, such as a parameter without an optimizer.

        Args:
            kind: A kind of the reference, such as `unowned-parameter`, or a pattern.
            worker: One rank; all of them by default.
        """
        return Observations(self._opened.workers(worker), kind)

    def tensors(self, name: str = "*", *, collection: str | None = None) -> Tensors:
        """The recorded tensors: names to iterate over, and details of each.

        Args:
            name: A tensor's name, or a pattern: a glob such as `gradient/*`, or a regular
                expression such as `^gradient.*weight$` if no name matches it as a glob.
            collection: Only those of a collection, such as `weights`.
        """
        opened = self._opened
        return Tensors.matching(opened.tensors(), name, collection, opened.workers())

    def tensor(self, name: str) -> Tensor:
        """One tensor: its statistics over steps, its histograms, its full values."""
        opened = self._opened
        return tensor_of(name, opened.workers(), opened.tensors(), lambda: self.scalars().names)

    def between(self, start: Moment, end: Moment) -> Selection:
        """Steps, phases and machine metrics between two times, as for `system`."""
        first_ns, last_ns = self._instant(start), self._instant(end)
        start_ns = self.facts.start_ns or 0
        within = TimeRange(
            start_ns if first_ns is None else first_ns,
            self.facts.end_ns or self._opened.clock.now_ns() if last_ns is None else last_ns,
        )
        return Selection(self._opened.workers(), self._opened.nodes, within, start_ns)

    def _read_summary(self) -> dict[str, Any]:
        opened, now_ns = self._opened, self._opened.clock.now_ns()
        training = read_training(opened.workers(), opened.facts, now_ns)
        damages = opened.damages
        actions = read_actions(opened.backend, damages)
        evaluations = read_evaluations(opened.backend, damages)
        document = status_document(opened.facts, now_ns, damages, training)
        document["rules"] = [evaluation_document(each, actions) for each in evaluations]
        return {**document, "coverage": coverage_in(document).document()}

    def _read_stages(self) -> Stages:
        marks = [read_marks(reader) for reader in self._opened.workers()]
        return Stages(find_stages(self.facts, marks, self._opened.clock.now_ns()))

    def _read_losses(self) -> Scalars:
        readers = self._opened.workers()
        from_hook = Scalars(readers, ScalarQuestion(Losses(), source="hook"))
        return from_hook if len(from_hook) else Scalars(readers, ScalarQuestion(Losses()))
