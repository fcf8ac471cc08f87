"""One rule's progress through a job: its windows, failures and cost."""

import json
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache

from sonde.clock import NANOSECONDS, thread_cpu_seconds
from sonde.engine.episodes import Episodes, as_json, plain
from sonde.engine.saved_progress import RuleProgress
from sonde.formats import format_duration
from sonde.guard import Guard
from sonde.masking import mask_text
from sonde.read.attempts import JobAttempt
from sonde.read.window import Window
from sonde.read.windows import Settled
from sonde.records.finding import Episode, Evaluation, Evidence, Finding, RuleStatus
from sonde.records.shortfall import Shortfall
from sonde.rules import Rule
from sonde.rules._broken import BrokenRule
from sonde.rules._rule import State

MAX_SECONDS_PER_WINDOW = 30.0

# Interrupts a rule that never returns; only possible in processes that Sonde owns.
Limit = Callable[[], AbstractContextManager[None]]


class RuleRun:
    """One rule and its progress."""

    def __init__(self, rule: Rule, progress: RuleProgress, limit: Limit = nullcontext) -> None:
        self.rule = rule
        self.needs = rule.needed
        self._limit = limit
        self._guard = Guard(self._failed)
        no_findings: list[Finding] = []
        self._check = self._guard.shield(rule.name(), self._checked, no_findings)
        self._attempt, self._index = progress.attempt, progress.index
        self._resume_ns = progress.resume_ns
        self._state = _restored(json.loads(progress.state))
        self._datapoints, self._triggered = progress.datapoints, progress.triggered
        self._seconds = progress.seconds
        self._reason, self._traceback = progress.reason, progress.traceback
        if isinstance(rule, BrokenRule):
            self._reason, self._traceback = rule.reason, rule.traceback
        episodes = {episode.id: episode for episode in progress.episodes}
        quiet, reopens = dict(progress.quiet), not rule.is_classic
        self.episodes = Episodes(rule.recovers_after, episodes, quiet, reopens)

    @property
    def has_failed(self) -> bool:
        """Whether the rule has failed and is stopped for good."""
        return self._traceback is not None

    @property
    def resume_ns(self) -> int | None:
        """Data before this instant is not needed anymore; None before the first window."""
        return self._resume_ns

    def next_index(self, attempt: JobAttempt) -> int:
        """The index of the first window of an attempt that the rule has not evaluated."""
        return self._index if attempt.number == self._attempt else 0

    def has_finished(self, attempt: JobAttempt) -> bool:
        """Whether the rule has evaluated all windows of an attempt."""
        return attempt.number < self._attempt

    def finish(self, attempt: JobAttempt) -> None:
        """Move on to the next attempt."""
        self._attempt, self._index = attempt.number + 1, 0

    def is_due(self, attempt: JobAttempt, settled: Settled) -> bool:
        """Whether the rule's next window may be complete (a cheap check)."""
        if self.has_failed or self.has_finished(attempt):
            return False
        following = self.next_index(attempt) + 1
        if self.rule.window_seconds is not None:
            width_ns = round(self.rule.window_seconds * NANOSECONDS)
            return attempt.start_ns + following * width_ns <= settled.time_ns
        return following * (self.rule.window_steps or 1) <= settled.steps

    def evaluate(self, index: int, window: Window) -> list[Episode]:
        """Run the rule on a window, and return the episodes that changed."""
        self._attempt, self._index = window.attempt.number, index + 1
        if self.has_failed:
            return []
        began = thread_cpu_seconds()
        findings = self._check(window)
        spent_seconds = thread_cpu_seconds() - began
        self._seconds += spent_seconds
        self._datapoints += window.datapoints
        if findings:
            self._triggered += sum(not finding.is_over for finding in findings)
        self._resume_ns = window.start_ns
        if spent_seconds > MAX_SECONDS_PER_WINDOW and not self.has_failed:
            duration, limit = (
                format_duration(spent_seconds),
                format_duration(MAX_SECONDS_PER_WINDOW),
            )
            self._reason = self._traceback = f"took {duration} for one window (limit: {limit})"
        return self.episodes.take(findings, window)

    def _checked(self, window: Window) -> list[Finding]:
        with self._limit():
            findings = list(self.rule.check(window, self._state))
        for finding in findings:
            if finding.evidence:
                plain(dict(finding.evidence))
        return [_masked(finding) for finding in findings]

    def progress(self) -> RuleProgress:
        """The progress to save."""
        if isinstance(self.rule, BrokenRule):  # starts over once it is fixed
            return RuleProgress(self.rule.name(), configuration_of(self.rule))
        component = f"state of {self.rule.name()}"
        state = self._guard.call(component, lambda: as_json(self._state), "{}")
        return RuleProgress(
            rule=self.rule.name(),
            configuration=configuration_of(self.rule),
            attempt=self._attempt,
            index=self._index,
            resume_ns=self._resume_ns,
            state=state,
            datapoints=self._datapoints,
            triggered=self._triggered,
            seconds=self._seconds,
            traceback=self._traceback,
            reason=self._reason,
            episodes=tuple(self.episodes.all.values()),
            quiet=self.episodes.quiet,
        )

    def evaluation(self, *, is_over: bool) -> Evaluation:
        """The current evaluation."""
        summary = self._summary()  # first: a failure here changes the status
        status, reason = self._status(is_over=is_over)
        pages = self.rule.pages()
        return Evaluation(
            rule=self.rule.name(),
            setting=self.rule.setting,
            status=status,
            parameters=self.rule.parameters,
            description=pages.question,
            recommendation=pages.advice,
            reason=reason.explanation if isinstance(reason, Shortfall) else reason,
            traceback=self._traceback,
            datapoints=self._datapoints,
            triggered=self._triggered,
            seconds=self._seconds,
            episodes=tuple(self.episodes.all.values()),
            summary=summary,
            explains=self.rule.explains,
            missing=self._missing(status),
            shortfall=reason if isinstance(reason, Shortfall) else None,
        )

    def _missing(self, status: RuleStatus) -> tuple[str, ...]:
        """The kinds of data that the rule needs and did not get."""
        is_blind = status is RuleStatus.NOT_APPLICABLE and not self._datapoints
        name = self.rule.name()
        if not is_blind or self._guard.call(name, lambda: self.rule.unfit(self._state), ""):
            return ()
        return tuple(dict.fromkeys(type(need).__name__ for need in self.needs))

    def _summary(self) -> Evidence:
        empty: Evidence = {}
        if self.has_failed:
            return empty
        component = f"summary of {self.rule.name()}"
        return self._guard.call(
            component, lambda: plain(dict(self.rule.summary(self._state))), empty
        )

    def _status(self, *, is_over: bool) -> tuple[RuleStatus, str | Shortfall | None]:
        if self.has_failed:
            return RuleStatus.ERROR, self._reason
        if self.episodes.all:
            return RuleStatus.ISSUES_FOUND, None
        name = self.rule.name()
        unfit = self._guard.call(name, lambda: self.rule.unfit(self._state), "")
        if unfit:
            return RuleStatus.NOT_APPLICABLE, unfit
        if not self._datapoints:
            missing = " and ".join(need.missing for need in self.needs)
            reason = missing or "no data to check"
            return (
                (RuleStatus.NOT_APPLICABLE, reason) if is_over else (RuleStatus.IN_PROGRESS, None)
            )
        no_shortfall: str | Shortfall = ""
        lacks = self._guard.call(name, lambda: self.rule.lacks(self._state), no_shortfall)
        if lacks:
            return RuleStatus.NOT_ENOUGH_DATA, lacks
        return (RuleStatus.NO_ISSUES_FOUND if is_over else RuleStatus.IN_PROGRESS), None

    def _failed(self, component: str, error: BaseException) -> None:
        self._reason = mask_text(f"{component}: {type(error).__name__}: {error}")
        self._traceback = mask_text("".join(traceback.format_exception(error)))


def _masked(finding: Finding) -> Finding:
    """The finding without secrets: a rule's text may contain anything."""
    message, advice = _masked_text(finding.message), _masked_text(finding.advice)
    improvement = finding.improvement
    if improvement is not None:
        places = tuple(map(_masked_text, improvement.places))
        improvement = replace(improvement, places=places)
    if (message, advice, improvement) == (finding.message, finding.advice, finding.improvement):
        return finding
    return replace(finding, message=message, advice=advice, improvement=improvement)


@lru_cache(maxsize=1024)
def _masked_text(text: str) -> str:
    return mask_text(text)


def configuration_of(rule: Rule) -> str:
    """The setting and parameters of a rule as one text."""
    return json.dumps(
        {"setting": rule.setting, "given": sorted(rule.explicit_parameters), **rule.parameters},
        default=str,
    )


def _restored(state: object) -> State:
    """The saved JSON as the state of a rule."""
    restored = State()
    if isinstance(state, dict):
        for name, value in state.items():
            restored[name] = _restored(value) if isinstance(value, dict) else value
    return restored
