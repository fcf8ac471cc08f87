"""Job: the handle everything hangs from."""

import logging
import os
from functools import partial
from pathlib import Path

from sonde.analyze.coverage import coverage_in
from sonde.client.asked import known_mode
from sonde.client.evaluations import Evaluations
from sonde.client.events import Events, Stages
from sonde.client.followed import Followed
from sonde.client.job_card import job_card
from sonde.client.judged import Judged
from sonde.client.moments import Moment, instant_of
from sonde.client.observations import Observations
from sonde.client.profiled import Profiled
from sonde.client.reports import report_of
from sonde.client.scalars import Scalars
from sonde.client.selection import Selection
from sonde.client.shown_facts import Lives, Summary
from sonde.client.steps import Steps
from sonde.client.system import SystemMetrics
from sonde.client.tensors import Tensor, Tensors, tensor_of
from sonde.clock import Clock, SystemClock
from sonde.errors import StoreError, UsageError
from sonde.read.actions import read_actions
from sonde.read.evaluations import read_evaluations as read_results
from sonde.read.findings import evaluation_document, read_evaluations
from sonde.read.inventory import check_files
from sonde.read.job_data import JobData
from sonde.read.jobs import JobFacts, has_begun, list_job_names, read_job
from sonde.read.opening import MOST_SECONDS, read_in_time
from sonde.read.scalars import Losses, Matching, ScalarQuestion
from sonde.read.stages import find_stages, read_marks
from sonde.read.status import status_document
from sonde.read.system import SystemReader
from sonde.read.tensors import Holders, read_infos
from sonde.read.training import read_training
from sonde.read.workers import WorkerReader
from sonde.records.job import JobState
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.step import Mode
from sonde.settings import default_store
from sonde.show.report.kept import keep_report, write_report
from sonde.show.units import duration
from sonde.store.backends import Backend, open_backend
from sonde.store.places import find_job, job_uri

log = logging.getLogger("sonde")

_FEW = 4  # nodes that are named


class Job(Profiled, Judged, Followed):
    """One training run, live or over, here or in an object store."""

    def __init__(self, backend: Backend, clock: Clock | None = None) -> None:
        self._backend = backend
        self._clock = clock or SystemClock()
        self._readers: dict[str, SystemReader] = {}
        self._worker_readers: dict[int, WorkerReader] = {}
        self._tensors: dict[str, Holders] | None = None
        self._facts = read_job(backend, self._clock.now_ns())
        check_files(backend, self._facts)

    @property
    def name(self) -> str:
        """The job's name."""
        return self._facts.name

    @property
    def uri(self) -> str:
        """Where it is kept."""
        return self._backend.uri

    @property
    def state(self) -> JobState:
        """Where it stands, as of the last look."""
        return self._facts.state

    @property
    def facts(self) -> JobFacts:
        """Everything known about its attempts, as records."""
        return self._facts

    @property
    def summary(self) -> Summary:
        """The status document: state, exit, times, stages, steps, cost, what was lost.

        A dictionary that prints as `sonde status` does.

        Damage to samples is in it once they have been read.
        """
        now_ns = self._clock.now_ns()
        readers = self._workers_of(None)
        training = read_training(readers, self._facts, now_ns)
        damages = [text for reader in self._readers.values() for text in reader.damages]
        damages += [text for reader in readers for text in reader.damages]
        actions = read_actions(self._backend, damages)
        evaluations = read_evaluations(self._backend, damages)
        rules = [evaluation_document(one, actions) for one in evaluations]
        document = status_document(self._facts, now_ns, damages, training)
        document["rules"] = rules
        return Summary(document, coverage=coverage_in(document).document())

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes it runs or ran on."""
        return self._facts.nodes

    @property
    def workers(self) -> tuple[str, ...]:
        """The ranks of its training processes."""
        return self._facts.workers

    @property
    def lives(self) -> Lives:
        """Every start of a worker: where, with what, how far it came, why it died."""
        return Lives(self._facts.lives)

    @property
    def stages(self) -> Stages:
        """Initialization, training loop and finalization: how long, and from when to when."""
        now_ns = self._clock.now_ns()
        marks = [read_marks(reader) for reader in self._workers_of(None)]
        return Stages(find_stages(self._facts, marks, now_ns))

    def refresh(self) -> "Job":
        """Looks again at a job that still grows."""
        self._facts = read_job(self._backend, self._clock.now_ns())
        check_files(self._backend, self._facts)
        self._tensors = None
        for node in self._readers.values():
            node.refresh()
        for worker in self._worker_readers.values():
            worker.refresh(self._facts.lives)
        return self

    def system(
        self,
        metric: str = "*",
        *,
        device: str | None = None,
        node: str | None = None,
        start: Moment = None,
        end: Moment = None,
    ) -> SystemMetrics:
        """What the machines did.

        Args:
            metric: A metric's name, or a pattern such as `gpu.*`.
            device: One device, such as `gpu0`, or a pattern; all of them by default.
            node: One node; all of them by default.
            start: A date and time, an ISO text (UTC unless it names its zone), or seconds since
                the job began.
            end: Likewise; not included.
        """
        nodes = self.nodes if node is None else (self._known_node(node),)
        readers = tuple(self._reader(name) for name in nodes)
        within = TimeRange(self._instant(start), self._instant(end))
        return SystemMetrics(readers, metric, device, within, self._facts.start_ns)

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
            mode: `train`, `eval` or `predict`; None is all of them.
            worker: One rank; all of them by default.
            start_step: The first step.
            end_step: The first step that is not wanted any more.
        """
        modes = tuple(one.value for one in Mode) if mode is None else (known_mode(mode),)
        within = StepRange(start_step, end_step)
        return Steps(self._workers_of(worker), modes, within, self._systems)

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
        """Stretches of the workers' time lines: steps, phases, and what the script names.

        Args:
            name: An event's name, or a pattern such as `data_*`.
            category: `step`, `phase`, `user` or `device`.
            worker: One rank; all of them by default.
            steps: The first step, and the first one that is not wanted any more; None is open.
            start: A moment, as for `system`; events that begin then or later.
            end: Likewise; not included.
        """
        within = TimeRange(self._instant(start), self._instant(end))
        return Events(self._workers_of(worker), name, category, within, StepRange(*steps))

    @property
    def losses(self) -> Scalars:
        """Every loss, as the hook saw it; where it saw none, what was logged as `loss`."""
        readers = self._workers_of(None)
        seen = Scalars(readers, ScalarQuestion(Losses(), source="hook"))
        return seen if len(seen) else Scalars(readers, ScalarQuestion(Losses()))

    @property
    def evaluations(self) -> Evaluations:
        """The result of every evaluation: its name, training step, samples and mean loss."""
        return Evaluations(read_results(self._workers_of(None)))

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
        """Losses, learning rates, gradient norms, and what was logged.

        Args:
            name: A scalar's name, or a pattern such as `learning_rate/*`.
            mode: `train`, `eval` or `predict`; all of them by default.
            worker: One rank; all of them by default.
            source: Who said it: `hook`, `log`, `lightning`, `huggingface`.
            start_step: The first step.
            end_step: The first step that is not wanted any more.
        """
        steps = StepRange(start_step, end_step)
        known = None if mode is None else known_mode(mode)
        question = ScalarQuestion(Matching(name), known, source, steps)
        return Scalars(self._workers_of(worker), question)

    def observations(self, kind: str = "*", *, worker: int | str | None = None) -> Observations:
        """What the hook found that needs no threshold, such as a parameter without an optimizer.

        Args:
            kind: A kind of the reference, such as `unowned-parameter`, or a pattern.
            worker: One rank; all of them by default.
        """
        return Observations(self._workers_of(worker), kind)

    def tensors(self, name: str = "*", *, collection: str | None = None) -> Tensors:
        """The tensors that were recorded: names to iterate over, and what is known of each.

        Args:
            name: A tensor's name, or a pattern such as `gradient/*`.
            collection: Only those of a collection, such as `weights`.
        """
        known = self._known_tensors()
        return Tensors.matching(known, name, collection, self._workers_of(None))

    def tensor(self, name: str) -> Tensor:
        """One tensor: its statistics over steps, its histograms, its full values."""
        return tensor_of(name, self._workers_of(None), self._known_tensors())

    def between(self, start: Moment, end: Moment) -> Selection:
        """What training and machines did between two moments, as for `system`."""
        first_ns, last_ns = self._instant(start), self._instant(end)
        start_ns = self._facts.start_ns or 0
        within = TimeRange(
            start_ns if first_ns is None else first_ns,
            self._facts.end_ns or self._clock.now_ns() if last_ns is None else last_ns,
        )
        return Selection(self._workers_of(None), self._systems, within, start_ns)

    def report(self, path: str | os.PathLike[str] | None = None) -> Path | str:
        """Writes the report: one page that stands alone, and the same as JSON beside it.

        Args:
            path: A file such as `report.html`; into the job's folder by default.
        """
        report = report_of(self, clock=self._clock)
        if path is None:
            return keep_report(report, self._backend)
        file = Path(path)
        write_report(report, file)
        return file

    def _known_tensors(self) -> dict[str, Holders]:
        if self._tensors is None:
            self._tensors = read_infos(self._workers_of(None), [])
        return self._tensors

    def _workers_of(self, worker: int | str | None) -> tuple[WorkerReader, ...]:
        if worker is not None and str(worker) not in self.workers:
            known = ", ".join(self.workers) or "none"
            raise UsageError(f"Job {self.name!r} has no worker {worker}. Known: {known}")
        wanted = self.workers if worker is None else (str(worker),)
        for rank in map(int, wanted):
            if rank not in self._worker_readers:
                lives = self._facts.lives
                self._worker_readers[rank] = WorkerReader(self._backend, rank, lives)
        return tuple(self._worker_readers[int(rank)] for rank in wanted)

    def _reader(self, node: str) -> SystemReader:
        if node not in self._readers:
            self._readers[node] = SystemReader(self._backend, node)
        return self._readers[node]

    def _known_node(self, node: str) -> str:
        if node not in self.nodes:
            raise UsageError(
                f"Job {self.name!r} has no node {node!r}. Known: {', '.join(self.nodes)}"
            )
        return node

    def _instant(self, moment: Moment) -> int | None:
        return instant_of(moment, self._facts.start_ns or 0)

    def _data(self) -> JobData:
        return JobData(self._backend, self._clock)

    def _systems(self) -> tuple[SystemReader, ...]:
        return tuple(self._reader(name) for name in self.nodes)

    def _repr_html_(self) -> str:
        return job_card(self.summary)

    def __repr__(self) -> str:
        seconds = self._facts.seconds(self._clock.now_ns())
        lasted = "" if seconds is None else f", {duration(seconds)}"
        nodes = ", ".join(self.nodes[:_FEW]) + (", …" if len(self.nodes) > _FEW else "")
        return f"<Job {self.name}: {self.state.value}{lasted}, nodes: {nodes or 'none yet'}>"


def open_job(job: str | os.PathLike[str], store: str | os.PathLike[str] | None = None) -> Job:
    """Opens a job by its name in the store, or by the path or URI of its folder."""
    return Job(find_job(os.fspath(job), os.fspath(store or default_store())))


def list_jobs(store: str | os.PathLike[str] | None = None) -> list[Job]:
    """All jobs of a store, the latest last; those that cannot be opened only give a warning."""
    where = os.fspath(store or default_store())
    jobs = []
    for name in list_job_names(where):
        backend = open_backend(job_uri(where, name))
        try:
            job = read_in_time(backend, partial(Job, backend), MOST_SECONDS)
            if has_begun(backend, job.facts):
                jobs.append(job)
        except StoreError as error:
            log.warning("%s", error)
    return sorted(jobs, key=lambda job: job.facts.start_ns or 0)
