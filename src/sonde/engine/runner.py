"""All rules over the windows of a job: recorded, or still growing."""

import heapq
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import reduce
from operator import or_
from typing import Protocol

from sonde.clock import Clock
from sonde.engine.rule_progress import Course, Limit, asked_by
from sonde.engine.saved_progress import Progress, RuleProgress, load_progress, save_progress
from sonde.errors import StoreError
from sonde.read.attempts import Leg
from sonde.read.causes import linked
from sonde.read.event_queries import Eventful
from sonde.read.findings import read_evaluations
from sonde.read.job_data import JobData
from sonde.read.window import Window
from sonde.read.windows import ending_window, settled, step_windows, time_windows
from sonde.records.finding import (
    Episode,
    Evaluation,
    Evaluations,
    RuleStatus,
    Severity,
    Verdict,
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

_PART_SECONDS = 1.0  # of work, after which what was found is written
_KEEP_SECONDS = 30.0  # between two documents of where rules stand, while there is nothing new


Begin = Callable[[Rule, RuleProgress, Limit], Course]


class Judge(Protocol):
    """Puts what all rules say into a few words."""

    def __call__(self, evaluations: Sequence[Evaluation], *, is_final: bool) -> Verdict:
        """The words."""


class Runner:
    """Shows every rule what has become complete since the last time."""

    def __init__(
        self,
        data: JobData,
        rules: Sequence[Rule],
        progress: Progress | None = None,
        limit: Limit = nullcontext,
        begin: Begin = Course,
    ) -> None:
        """Begins where rules stood.

        Args:
            data: The job.
            rules: The rules to ask.
            progress: Where they stood; without it they begin at the beginning.
            limit: Ends a rule that would not end by itself.
            begin: Puts a rule on its way.
        """
        self._data = data
        self._is_caught_up = False
        known = progress or Progress()
        self._courses = [
            begin(rule, known.of(rule.name(), asked_by(rule)), limit) for rule in rules
        ]
        self._since_ns = self._known_ns = _earliest(self._courses)

    def advance(self) -> list[Episode]:
        """Looks at what is new; returns the episodes that opened, went on or recovered."""
        return [episode for part in self.parts() for episode in part]

    def parts(self, every_seconds: float = math.inf) -> Iterator[list[Episode]]:
        """Looks at what is new; gives what has changed now and then, and at the end."""
        clock = self._data.clock
        self._is_caught_up = False
        due = self._refresh()
        changed: list[Episode] = []
        pause_due = clock.seconds() + every_seconds
        for leg, courses in due:
            for course, index, window in self._in_order(leg, courses):
                changed += course.show(index, window.for_needs(course.needs))
                if clock.seconds() >= pause_due:
                    yield changed
                    changed = []
                    pause_due = clock.seconds() + every_seconds
        self._since_ns = self._known_ns
        self._is_caught_up = True
        yield changed

    def _refresh(self) -> list[tuple[Leg, list[Course]]]:
        """Looks at the store again; the legs, and the rules to which more of them can be shown.

        Rules with wide windows are seldom among them, so most looks need only the last seconds.
        """
        data = self._data
        data.refresh(self._since_ns)
        found, self._known_ns = [], None
        for leg in data.legs:
            arrived = settled(data, leg)
            if not leg.is_over:
                self._known_ns = arrived.since_ns
            found.append((leg, [one for one in self._courses if one.is_due(leg, arrived)]))
        due = [course for _, courses in found for course in courses]
        if due:
            data.reach_back(_earliest(due))
        return found

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of the job, and everything was looked at."""
        legs = self._data.legs
        is_job_over = all(leg.is_over for leg in legs) if legs else self._data.facts.state.is_over
        return self._is_caught_up and is_job_over

    @property
    def open_episodes(self) -> list[Episode]:
        """All that has opened and not recovered."""
        return [
            one for course in self._courses for one in course.episodes.all.values() if one.is_open
        ]

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """How every rule stands, and what explains what it found."""
        return linked(self.standings)

    @property
    def standings(self) -> tuple[Evaluation, ...]:
        """How every rule stands by itself."""
        return tuple(course.evaluation(is_over=self.is_over) for course in self._courses)

    @property
    def progress(self) -> Progress:
        """Where all rules stand, to be kept."""
        return Progress(tuple(course.progress() for course in self._courses))

    def _in_order(
        self, leg: Leg, courses: Sequence[Course]
    ) -> Iterator[tuple[Course, int, Window]]:
        """The windows of all rules as they follow each other, so that data is read once."""
        groups: dict[tuple[float | None, int | None, bool], list[Course]] = {}
        for course in courses:
            rule = course.rule
            alike = (rule.window_seconds, rule.window_steps, rule.skips_quiet)
            groups.setdefault(alike, []).append(course)
        going = [self._of_a_width(leg, alike) for alike in groups.values()]
        for index, window, shown_to in heapq.merge(*going, key=lambda one: one[1].start_ns):
            for course in shown_to:
                yield course, index, window

    def _of_a_width(
        self, leg: Leg, courses: Sequence[Course]
    ) -> Iterator[tuple[int, Window, list[Course]]]:
        """One window after the other, and all rules that see the job in such ones."""
        rule, first = courses[0].rule, min(course.place_in(leg) for course in courses)
        data, width = self._data.reaching(_earliest(courses)), rule.window_steps or 1
        wanted: list[Eventful] = []
        if rule.window_seconds is not None:
            windows = time_windows(data, leg, rule.window_seconds, first)
        else:
            if rule.skips_quiet:
                wanted = [Eventful(data, leg, width, course.needs) for course in courses]
            windows = step_windows(data, leg, width, first, reduce(or_, wanted) if wanted else None)
        for index, window in windows:
            shown_to = [
                course
                for place, course in enumerate(courses)
                if course.place_in(leg) <= index
                and (not wanted or window.is_last or index in wanted[place])
            ]
            yield index, window, shown_to
        to_end = [course for course in courses if course.rule.sees_end]
        if to_end and rule.window_seconds is None:
            first = min(course.place_in(leg) for course in to_end)
            for index, window in ending_window(data, leg, width, first):
                yield index, window, to_end
        if leg.end_ns is not None:
            for course in courses:
                course.leave(leg)


def _earliest(courses: Sequence[Course]) -> int | None:
    """From when on data is needed; None: all of it."""
    instants = [course.resume_ns for course in courses if not course.has_failed]
    known = [one for one in instants if one is not None]
    return min(known) if known and len(known) == len(instants) else None


class Recorder:
    """Keeps what rules find in the job's store; goes on where the last one stopped."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        rules: Sequence[Rule],
        judge: Judge | None = None,
        limit: Limit = nullcontext,
    ) -> None:
        """Opens what was kept before.

        Args:
            backend: The job.
            clock: The time.
            rules: The rules to ask.
            judge: Puts what they say into a few words, which are kept too.
            limit: Ends a rule that would not end by itself.
        """
        self._backend = backend
        self._clock = clock
        self._judge = judge
        self._writer = Writer(backend, FINDINGS_FOLDER, clock)
        self._keep_due = 0.0
        self._told: dict[str, tuple[Severity, bool]] = {}  # how bad episodes are, and open or not
        progress, names = load_progress(backend), {rule.name() for rule in rules}
        self._others = [one for one in progress.rules if one.rule not in names]
        # rules that were asked before, and are not now: what they said stays
        before = read_evaluations(backend, [])
        self._before = [_left(one) for one in before if one.rule not in names]
        self.runner = Runner(JobData(backend, clock), rules, progress, limit)

    def advance(self) -> list[Episode]:
        """Looks at what is new, and writes what it means before it remembers having seen it."""
        return [episode for part in self.parts() for episode in part]

    def parts(self) -> Iterator[list[Episode]]:
        """The same, bit by bit: what has changed is given out when it was handed to the store.

        Raises:
            StoreError: The store takes nothing; what was found waits for the next time.
        """
        for changed in self.runner.parts(_PART_SECONDS):
            self._write(changed)
            yield changed
            is_due = self.runner.is_over or self._clock.seconds() >= self._keep_due
            if self._is_news(changed) or is_due:
                self._keep()

    def _is_news(self, changed: Sequence[Episode]) -> bool:
        """Whether anything has opened, got worse or recovered: what only goes on can wait."""
        before = dict(self._told)
        self._told |= {one.id: (one.severity, one.is_open) for one in changed}
        return self._told != before

    def _write(self, changed: Sequence[Episode]) -> None:
        for episode in changed:
            finding = episode.finding
            texts = (finding.rule, finding.severity.value, finding.message)
            self._writer.add(FINDINGS, (episode.last_ns, *texts, json.dumps(asdict(episode))))
        self._writer.flush()
        self._writer.outbox.write_waiting()

    def _keep(self) -> None:
        """Remembers how far the rules have come, and how they stand."""
        if self._writer.outbox.trouble is not None:
            raise StoreError(self._writer.outbox.trouble)
        evaluations = linked([*self.runner.standings, *self._before])
        if self._judge is not None:
            said = self._judge(evaluations, is_final=self.runner.is_over)
            self._backend.write(VERDICT, encode_facts(said, VERDICT))
        standings = Evaluations(tuple(map(_told, evaluations)))
        self._backend.write(EVALUATIONS, encode_facts(standings, EVALUATIONS))
        if self.runner.is_over:
            list_logs(self._backend, FINDINGS_LIST, [f"{FINDINGS_FOLDER}/{FINDINGS.name}"])
        save_progress(self._backend, Progress((*self.runner.progress.rules, *self._others)))
        self._keep_due = self._clock.seconds() + _KEEP_SECONDS


def _told(evaluation: Evaluation) -> Evaluation:
    """The same without its episodes, which are in rows of their own."""
    return replace(evaluation, episodes=(), told=tuple(one.id for one in evaluation.episodes))


def _left(evaluation: Evaluation) -> Evaluation:
    """The same of a rule that is not asked any more."""
    if evaluation.status is not RuleStatus.IN_PROGRESS:
        return evaluation
    return replace(evaluation, status=RuleStatus.STOPPED, reason="it is not asked any more")
