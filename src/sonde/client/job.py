"""The public `Job`: query, check, follow, compare and report one training run."""

import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from sonde.client.reports import report_of
from sonde.client.summary import Summary
from sonde.client.waiting import Poller
from sonde.clock import Clock
from sonde.engine.check import check
from sonde.errors import StoreError, UsageError
from sonde.formats import format_duration
from sonde.read.job_data import JobData
from sonde.read.jobs import has_begun, list_job_names
from sonde.read.open_job import OpenJob
from sonde.read.opening import MAX_READ_SECONDS, read_in_time
from sonde.records.advice import Advice
from sonde.records.cost import JobCost
from sonde.report.storage import store_report, write_report
from sonde.results.advice import advice_on
from sonde.results.comparison import JobComparison
from sonde.results.efficiency import Efficiency, read_cost, read_efficiency
from sonde.results.findings import Findings, Judgement
from sonde.results.headline import headline
from sonde.results.job import JobResults
from sonde.results.job_card import job_card
from sonde.results.news import News
from sonde.rules import Rule
from sonde.rules._parameters import build_rule
from sonde.rules._selection import select_rules
from sonde.settings import default_store
from sonde.store.backends import Backend, open_backend
from sonde.store.places import find_job, job_uri

log = logging.getLogger("sonde")

_MAX_NODE_NAMES = 4


class Job(JobResults):
    """One training run, running or over, on disk or in an object store."""

    def __init__(self, backend: Backend, clock: Clock | None = None) -> None:
        super().__init__(OpenJob(backend, clock))

    @property
    def summary(self) -> Summary:
        """The status document: state, exit, times, stages, steps, overhead, lost data.

        A dictionary that prints as `sonde status` does. Damage to samples is included
        once the samples have been read.
        """
        return Summary(super().summary)

    def refresh(self) -> "Job":
        """Read what a running job has added since the last refresh."""
        super().refresh()
        return self

    def check(self, *rules: str | type[Rule] | Rule, **parameters: object) -> Judgement:
        """Run rules on the recorded data; nothing is written.

        Args:
            rules: Names such as `VanishingGradient`, or custom rules; all installed rules by
                default.
            parameters: Parameters of a single rule, such as `threshold=1e-6`, and `setting`.
        """
        if parameters and len(rules) != 1:
            raise UsageError("Parameters apply to a single rule. Specify exactly one rule.")
        data = JobData(self._opened)
        selected: list[Rule] = [] if rules else select_rules()
        for rule in rules:
            selected += _built(rule, parameters)
        evaluations = check(data, selected)
        return Judgement(self.name, evaluations, seen=self.seen)

    def findings(self) -> Findings:
        """The recorded findings; if no rules have run on the job, those of `check()`."""
        recorded = self.judgement()
        return (recorded if len(recorded) else self.check()).findings

    @property
    def efficiency(self) -> Efficiency:
        """Achieved FLOP/s and their share of the GPU's peak, samples and tokens per second."""
        return read_efficiency(self)

    @property
    def cost(self) -> JobCost | None:
        """GPU time, energy and price so far; None without GPUs."""
        return read_cost(self)

    def advice(self) -> Advice:
        """What would make the job faster, the largest predicted speed-up first.

        If no rules have run on the job, they run now; nothing is written.
        """
        recorded = self.judgement()
        judged = recorded if len(recorded) else self.check()
        return advice_on(judged.evaluations, self.seen)

    def follow(self, *, from_start: bool = False) -> Iterator[News]:
        """Yield what the job adds, up to twice a second, until it and its rules are done.

        Args:
            from_start: Begin with everything recorded so far.
        """
        return Poller(self, self._opened).news(from_start=from_start)

    def wait_for(
        self,
        condition: Callable[["Job"], bool] | None = None,
        *,
        state: str | None = None,
        step: int | None = None,
        metric: str | None = None,
        finding: str | None = None,
        timeout: float | None = None,
    ) -> "Job":
        """Wait until a condition holds, then return the refreshed job.

        Args:
            condition: A function of the job.
            state: Such as `running`, or `over` for any end.
            step: Until this training step is finished.
            metric: A scalar or machine metric and a limit, such as `loss < 0.3`.
            finding: A rule's name, or the lowest severity, such as `critical`.
            timeout: In seconds; no limit by default.

        Raises:
            JobEndedError: The job is over, its rules are done, and the condition does not hold.
            WaitTimeoutError: The timeout has passed.
        """
        goals = {"state": state, "step": step, "metric": metric, "finding": finding}
        Poller(self, self._opened).wait_for(condition, goals, timeout)
        return self

    def compare(self, *jobs: "Job") -> JobComparison:
        """Compare with other jobs: duration, progress, losses, utilization, findings."""
        return JobComparison((self, *jobs))

    def report(self, path: str | os.PathLike[str] | None = None) -> Path | str:
        """Write the report: one self-contained HTML page, and the same data as JSON next to it.

        Rules are run if none have run on the job.

        Args:
            path: A file such as `report.html`; by default, the report goes into the job's folder.
        """
        opened = self._opened
        report = report_of(opened.backend, opened.clock, runs_rules=True)
        if path is None:
            return store_report(report, opened.backend)
        file = Path(path)
        write_report(report, file)
        return file

    def _repr_html_(self) -> str:
        judgement = self.judgement()
        sentence = judgement.verdict if judgement.evaluations else ""
        return job_card(self.summary, headline(self), sentence)

    def __repr__(self) -> str:
        seconds = self.facts.seconds(self._opened.clock.now_ns())
        duration = "" if seconds is None else f", {format_duration(seconds)}"
        nodes = ", ".join(self.nodes[:_MAX_NODE_NAMES])
        nodes += ", …" if len(self.nodes) > _MAX_NODE_NAMES else ""
        return f"<Job {self.name}: {self.state.value}{duration}, nodes: {nodes or 'none yet'}>"


def open_job(job: str | os.PathLike[str], store: str | os.PathLike[str] | None = None) -> Job:
    """Open a job by its name in the store, or by the path or URI of its folder."""
    return Job(find_job(os.fspath(job), os.fspath(store or default_store())))


def list_jobs(store: str | os.PathLike[str] | None = None) -> list[Job]:
    """All jobs of a store, oldest first; jobs that cannot be opened are logged as warnings."""
    store_uri = os.fspath(store or default_store())
    jobs = []
    for name in list_job_names(store_uri):
        backend = open_backend(job_uri(store_uri, name))
        try:
            job = read_in_time(backend, partial(Job, backend), MAX_READ_SECONDS)
            if has_begun(backend, job.facts):
                jobs.append(job)
        except StoreError as error:
            log.warning("%s", error)
    return sorted(jobs, key=lambda job: job.facts.start_ns or 0)


def _built(rule: str | type[Rule] | Rule, parameters: dict[str, object]) -> list[Rule]:
    if isinstance(rule, str):
        return select_rules([rule], parameters={rule: parameters} if parameters else None)
    if isinstance(rule, Rule):
        if parameters:
            raise UsageError(f"{rule!r} already has parameters. Set them there, or pass the class.")
        return [rule]
    return [build_rule(rule, parameters)]
