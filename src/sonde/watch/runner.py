"""All rules over the windows of a job: recorded, or still growing."""

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from sonde.clock import Clock
from sonde.read.job_data import JobData
from sonde.read.legs import Leg
from sonde.read.window import Window
from sonde.records.finding import Episode, Evaluation, Evaluations
from sonde.rules import Rule
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts
from sonde.store.format import FINDINGS
from sonde.store.layout import FINDINGS_FOLDER, rules_key
from sonde.store.writer import Writer
from sonde.watch.course import Course, asked_by
from sonde.watch.progress import Progress, load_progress, save_progress

EVALUATIONS = rules_key("evaluations")


class Runner:
    """Shows every rule what has become complete since the last time."""

    def __init__(
        self, data: JobData, rules: Sequence[Rule], progress: Progress | None = None
    ) -> None:
        self._data = data
        known = progress or Progress()
        self._courses = [Course(rule, known.of(rule.name(), asked_by(rule))) for rule in rules]

    def advance(self) -> list[Episode]:
        """Looks at what is new; returns the episodes that opened, went on or recovered."""
        self._data.refresh(self._resume_ns())
        changed: list[Episode] = []
        for leg in self._data.legs:
            for course, index, window in self._in_order(leg):
                changed += course.show(index, window)
        return changed

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """How every rule stands."""
        legs = self._data.legs
        is_over = all(leg.is_over for leg in legs) if legs else self._data.facts.state.is_over
        return tuple(course.evaluation(is_over=is_over) for course in self._courses)

    @property
    def progress(self) -> Progress:
        """Where all rules stand, to be kept."""
        return Progress(tuple(course.progress() for course in self._courses))

    def _in_order(self, leg: Leg) -> Iterator[tuple[Course, int, Window]]:
        """The windows of all rules as they follow each other, so that data is read once."""

        def of_one(course: Course) -> Iterator[tuple[Course, int, Window]]:
            for index, window in course.windows(self._data, leg):
                yield course, index, window.for_needs(course.rule.needs)

        going = [of_one(course) for course in self._courses if not course.has_failed]
        return heapq.merge(*going, key=lambda one: one[2].start_ns)

    def _resume_ns(self) -> int | None:
        instants = [course.resume_ns for course in self._courses if not course.has_failed]
        known = [one for one in instants if one is not None]
        return min(known) if known and len(known) == len(instants) else None


class Recorder:
    """Keeps what rules find in the job's store; goes on where the last one stopped."""

    def __init__(self, backend: Backend, clock: Clock, rules: Sequence[Rule]) -> None:
        self._backend = backend
        self._clock = clock
        self._writer = Writer(backend, FINDINGS_FOLDER, clock)
        self.runner = Runner(JobData(backend, clock), rules, load_progress(backend))

    def advance(self) -> list[Episode]:
        """Looks at what is new, and writes what it means before it remembers having seen it."""
        changed = self.runner.advance()
        for episode in changed:
            finding = episode.finding
            texts = (finding.rule, finding.severity.value, finding.message)
            self._writer.add(FINDINGS, (episode.last_ns, *texts, json.dumps(asdict(episode))))
        self._writer.flush()
        self._writer.outbox.write_waiting()
        self._backend.write(EVALUATIONS, encode_facts(Evaluations(self._standings())))
        save_progress(self._backend, self.runner.progress)
        return changed

    def _standings(self) -> tuple[Evaluation, ...]:
        """How every rule stands, without what the findings tell."""
        return tuple(replace(one, episodes=()) for one in self.runner.evaluations)
