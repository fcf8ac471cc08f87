"""Run all rules over the windows of a job, recorded or running."""

import heapq
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import reduce
from operator import or_

from sonde.clock import Clock
from sonde.engine.rule_progress import Limit, RuleRun, configuration_of
from sonde.engine.saved_progress import Progress, RuleProgress, load_progress, save_progress
from sonde.engine.verdict import job_verdict
from sonde.errors import StoreError
from sonde.read.attempts import JobAttempt
from sonde.read.causes import link_causes
from sonde.read.event_queries import EventWindows
from sonde.read.findings import read_evaluations
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.read.windows import ending_window, settled, step_windows, time_windows
from sonde.records.finding import (
    Episode,
    Evaluation,
    Evaluations,
    RuleStatus,
    Severity,
)
from sonde.rules import Rule
from sonde.store.backends import Backend
from sonde.store.closing import list_logs
from sonde.store.facts import encode_facts
from sonde.store.format import FINDINGS
from sonde.store.layout import FINDINGS_FOLDER, FINDINGS_LIST, rules_key
from sonde.store.writer import Writer

EVALUATIONS = rules_key("evaluations")
VERDICT = rules_key("verdict")

_BATCH_SECONDS = 1.0  # of work between writes of findings
_SAVE_SECONDS = 30.0  # between saves of progress while nothing changes


Begin = Callable[[Rule, RuleProgress, Limit], RuleRun]


class Runner:
    """Runs every rule on the windows that have become complete since the last call."""

    def __init__(
        self,
        data: JobData,
        rules: Sequence[Rule],
        progress: Progress | None = None,
        limit: Limit = nullcontext,
        begin: Begin = RuleRun,
    ) -> None:
        """Create a runner that continues from saved progress.

        Args:
            data: The job.
            rules: The rules to run.
            progress: The saved progress; without it, rules start at the beginning.
            limit: Interrupts a rule that takes too long.
            begin: Creates the run of a rule.
        """
        self._data = data
        self._is_caught_up = False
        saved = progress or Progress()
        self._rule_runs = [
            begin(rule, saved.of(rule.name(), configuration_of(rule)), limit) for rule in rules
        ]
        self._since_ns = self._settled_ns = _earliest(self._rule_runs)

    def advance(self) -> list[Episode]:
        """Process new data; return the episodes that opened, continued or recovered."""
        return [episode for batch in self.batches() for episode in batch]

    def batches(self, every_seconds: float = math.inf) -> Iterator[list[Episode]]:
        """Process new data; yield changed episodes periodically and at the end."""
        clock = self._data.clock
        self._is_caught_up = False
        due = self._refresh()
        changed: list[Episode] = []
        pause_due = clock.seconds() + every_seconds
        for attempt, rule_runs in due:
            for rule_run, index, window in self._in_order(attempt, rule_runs):
                changed += rule_run.evaluate(index, window.for_needs(rule_run.needs))
                if clock.seconds() >= pause_due:
                    yield changed
                    changed = []
                    pause_due = clock.seconds() + every_seconds
        self._since_ns = self._settled_ns
        self._is_caught_up = True
        yield changed

    def _refresh(self) -> list[tuple[JobAttempt, list[RuleRun]]]:
        """Read new data; return each attempt with the rules that have new windows to evaluate.

        Rules with wide windows are rarely due, so most polls read only the last seconds.
        """
        data = self._data
        data.refresh(self._since_ns)
        due_runs, self._settled_ns = [], None
        for attempt in data.attempts:
            progress = settled(data, attempt)
            if not attempt.is_over:
                self._settled_ns = progress.since_ns
            due_runs.append(
                (attempt, [run for run in self._rule_runs if run.is_due(attempt, progress)])
            )
        due = [rule_run for _, rule_runs in due_runs for rule_run in rule_runs]
        if due:
            data.extend_back(_earliest(due))
        return due_runs

    @property
    def is_over(self) -> bool:
        """Whether the job has ended and all of its data has been processed."""
        attempts = self._data.attempts
        is_job_over = (
            all(attempt.is_over for attempt in attempts)
            if attempts
            else self._data.facts.state.is_over
        )
        return self._is_caught_up and is_job_over

    @property
    def open_episodes(self) -> list[Episode]:
        """All open episodes."""
        return [
            episode
            for rule_run in self._rule_runs
            for episode in rule_run.episodes.all.values()
            if episode.is_open
        ]

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations of all rules, with causes linked."""
        return link_causes(self.raw_evaluations)

    @property
    def raw_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations of all rules, without causes."""
        return tuple(rule_run.evaluation(is_over=self.is_over) for rule_run in self._rule_runs)

    @property
    def progress(self) -> Progress:
        """The progress of all rules, to save."""
        return Progress(tuple(rule_run.progress() for rule_run in self._rule_runs))

    def _in_order(
        self, attempt: JobAttempt, rule_runs: Sequence[RuleRun]
    ) -> Iterator[tuple[RuleRun, int, Window]]:
        """The windows of all rules in order of time, so that data is read once."""
        groups: dict[tuple[float | None, int | None, bool], list[RuleRun]] = {}
        for rule_run in rule_runs:
            rule = rule_run.rule
            group_key = (rule.window_seconds, rule.window_steps, rule.skips_quiet)
            groups.setdefault(group_key, []).append(rule_run)
        streams = [self._group_windows(attempt, group) for group in groups.values()]
        for index, window, evaluating in heapq.merge(*streams, key=lambda entry: entry[1].start_ns):
            for rule_run in evaluating:
                yield rule_run, index, window

    def _group_windows(
        self, attempt: JobAttempt, rule_runs: Sequence[RuleRun]
    ) -> Iterator[tuple[int, Window, list[RuleRun]]]:
        """The windows of rules with the same width, each with the rules to run on it."""
        rule, first = rule_runs[0].rule, min(rule_run.next_index(attempt) for rule_run in rule_runs)
        data, width = self._data.view_since(_earliest(rule_runs)), rule.window_steps or 1
        event_windows: list[EventWindows] = []
        if rule.window_seconds is not None:
            windows = time_windows(data, attempt, rule.window_seconds, first)
        else:
            if rule.skips_quiet:
                event_windows = [
                    EventWindows(data, attempt, width, rule_run.needs) for rule_run in rule_runs
                ]
            windows = step_windows(
                data, attempt, width, first, reduce(or_, event_windows) if event_windows else None
            )
        for index, window in windows:
            evaluating = [
                rule_run
                for number, rule_run in enumerate(rule_runs)
                if rule_run.next_index(attempt) <= index
                and (not event_windows or window.is_last or index in event_windows[number])
            ]
            yield index, window, evaluating
        to_end = [rule_run for rule_run in rule_runs if rule_run.rule.sees_end]
        if to_end and rule.window_seconds is None:
            first = min(rule_run.next_index(attempt) for rule_run in to_end)
            for index, window in ending_window(data, attempt, width, first):
                yield index, window, to_end
        if attempt.end_ns is not None:
            for rule_run in rule_runs:
                rule_run.finish(attempt)


def _earliest(rule_runs: Sequence[RuleRun]) -> int | None:
    """The instant from which data is needed; None for all data."""
    instants = [rule_run.resume_ns for rule_run in rule_runs if not rule_run.has_failed]
    set_instants = [instant for instant in instants if instant is not None]
    return min(set_instants) if set_instants and len(set_instants) == len(instants) else None


class Recorder:
    """Runs rules and records their findings in the job's store; continues earlier runs."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        rules: Sequence[Rule],
        limit: Limit = nullcontext,
    ) -> None:
        """Load saved progress.

        Args:
            backend: The job.
            clock: The source of time.
            rules: The rules to run.
            limit: Interrupts a rule that takes too long.
        """
        self._backend = backend
        self._clock = clock
        self._writer = Writer(backend, FINDINGS_FOLDER, clock)
        self._save_due = 0.0
        self._recorded: dict[
            str, tuple[Severity, bool]
        ] = {}  # severity and whether it is open, by episode
        progress, names = load_progress(backend), {rule.name() for rule in rules}
        self._inactive = [each for each in progress.rules if each.rule not in names]
        # evaluations of rules that are no longer active are retained
        before = read_evaluations(backend, [])
        self._before = [_inactive(each) for each in before if each.rule not in names]
        self.runner = Runner(JobData(OpenJob(backend, clock)), rules, progress, limit)

    def advance(self) -> list[Episode]:
        """Process new data; findings are written before progress is saved."""
        return [episode for batch in self.batches() for episode in batch]

    def batches(self) -> Iterator[list[Episode]]:
        """Process new data; yield changed episodes after they have been written.

        Raises:
            StoreError: The store cannot be written; findings are kept for the next call.
        """
        for changed in self.runner.batches(_BATCH_SECONDS):
            self._write(changed)
            yield changed
            is_due = self.runner.is_over or self._clock.seconds() >= self._save_due
            if self._has_changed(changed) or is_due:
                self._save()

    def _has_changed(self, changed: Sequence[Episode]) -> bool:
        """Whether an episode opened, got worse or recovered; continuing episodes can wait."""
        before = dict(self._recorded)
        self._recorded |= {episode.id: (episode.severity, episode.is_open) for episode in changed}
        return self._recorded != before

    def _write(self, changed: Sequence[Episode]) -> None:
        for episode in changed:
            finding = episode.finding
            texts = (finding.rule, finding.severity.value, finding.message)
            self._writer.add(FINDINGS, (episode.last_ns, *texts, json.dumps(asdict(episode))))
        self._writer.flush()
        self._writer.outbox.write_waiting()

    def _save(self) -> None:
        """Save evaluations, verdict and progress."""
        if self._writer.outbox.last_error is not None:
            raise StoreError(self._writer.outbox.last_error)
        evaluations = link_causes([*self.runner.raw_evaluations, *self._before])
        is_final = self.runner.is_over
        verdict = job_verdict(self._backend, self._clock, evaluations, is_final=is_final)
        self._backend.write(VERDICT, encode_facts(verdict, VERDICT))
        raw_evaluations = Evaluations(tuple(map(_without_episodes, evaluations)))
        self._backend.write(EVALUATIONS, encode_facts(raw_evaluations, EVALUATIONS))
        if self.runner.is_over:
            list_logs(self._backend, FINDINGS_LIST, [f"{FINDINGS_FOLDER}/{FINDINGS.name}"])
        save_progress(self._backend, Progress((*self.runner.progress.rules, *self._inactive)))
        self._save_due = self._clock.seconds() + _SAVE_SECONDS


def _without_episodes(evaluation: Evaluation) -> Evaluation:
    """The evaluation with only the IDs of its episodes, which are stored as rows."""
    return replace(
        evaluation, episodes=(), episode_ids=tuple(episode.id for episode in evaluation.episodes)
    )


def _inactive(evaluation: Evaluation) -> Evaluation:
    """The evaluation of a rule that is no longer active."""
    if evaluation.status is not RuleStatus.IN_PROGRESS:
        return evaluation
    return replace(evaluation, status=RuleStatus.STOPPED, reason="the rule is no longer active")
