"""One rule's way through a job: shown window after window, alone with its failures and its cost."""

import json
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache

from sonde.clock import NANOSECONDS, thread_cpu_seconds
from sonde.engine.episodes import Episodes, as_json, plain
from sonde.engine.saved_progress import RuleProgress
from sonde.guard import Guard
from sonde.masking import mask_text
from sonde.read.attempts import Leg
from sonde.read.window import Window
from sonde.read.windows import Settled
from sonde.records.finding import Episode, Evaluation, Evidence, Finding, RuleStatus
from sonde.records.shortfall import Shortfall
from sonde.rules import Rule
from sonde.rules._broken import BrokenRule
from sonde.rules._rule import State

MAX_SECONDS_PER_WINDOW = 30.0

# What ends a rule that would never end; only a process of ours can afford that.
Limit = Callable[[], AbstractContextManager[None]]


class Course:
    """One rule and how far it has come."""

    def __init__(self, rule: Rule, progress: RuleProgress, limit: Limit = nullcontext) -> None:
        self.rule = rule
        self.needs = rule.needed
        self._limit = limit
        self._guard = Guard(self._failed)
        nothing: list[Finding] = []
        self._check = self._guard.shield(rule.name(), self._checked, nothing)
        self._leg, self._index = progress.leg, progress.index
        self._resume_ns = progress.resume_ns
        self._state = _restored(json.loads(progress.state))
        self._datapoints, self._triggered = progress.datapoints, progress.triggered
        self._seconds = progress.seconds
        self._reason, self._traceback = progress.reason, progress.traceback
        if isinstance(rule, BrokenRule):
            self._reason, self._traceback = rule.reason, rule.traceback
        known = {one.id: one for one in progress.episodes}
        quiet, reopens = dict(progress.quiet), not rule.is_classic
        self.episodes = Episodes(rule.recovers_after, known, quiet, reopens)

    @property
    def has_failed(self) -> bool:
        """Whether it is stopped for good."""
        return self._traceback is not None

    @property
    def resume_ns(self) -> int | None:
        """What lies before this instant is not needed any more; None while nothing was shown."""
        return self._resume_ns

    def place_in(self, leg: Leg) -> int:
        """The number of the first window of a leg that was not shown."""
        return self._index if leg.number == self._leg else 0

    def has_seen(self, leg: Leg) -> bool:
        """Whether a leg is behind it."""
        return leg.number < self._leg

    def leave(self, leg: Leg) -> None:
        """Nothing more comes of a leg: another one has begun."""
        self._leg, self._index = leg.number + 1, 0

    def is_due(self, leg: Leg, settled: Settled) -> bool:
        """Whether anything more of a leg can be shown, as far as that can be told cheaply."""
        if self.has_failed or self.has_seen(leg):
            return False
        following = self.place_in(leg) + 1
        if self.rule.window_seconds is not None:
            width_ns = round(self.rule.window_seconds * NANOSECONDS)
            return leg.start_ns + following * width_ns <= settled.time_ns
        return following * (self.rule.window_steps or 1) <= settled.steps

    def show(self, index: int, window: Window) -> list[Episode]:
        """What a window has changed."""
        self._leg, self._index = window.leg.number, index + 1
        if self.has_failed:
            return []
        began = thread_cpu_seconds()
        findings = self._check(window)
        spent = thread_cpu_seconds() - began
        self._seconds += spent
        self._datapoints += window.datapoints
        if findings:
            self._triggered += sum(not one.is_over for one in findings)
        self._resume_ns = window.start_ns
        if spent > MAX_SECONDS_PER_WINDOW and not self.has_failed:
            limit = f"a rule may take {MAX_SECONDS_PER_WINDOW:g} s"
            self._reason = self._traceback = f"took {spent:.1f} s for one window; {limit}"
        return self.episodes.take(findings, window)

    def _checked(self, window: Window) -> list[Finding]:
        with self._limit():
            found = list(self.rule.check(window, self._state))
        for one in found:
            if one.evidence:
                plain(dict(one.evidence))
        return [_masked(finding) for finding in found]

    def progress(self) -> RuleProgress:
        """Its place, to be kept."""
        if isinstance(self.rule, BrokenRule):  # once it is mended it begins at the beginning
            return RuleProgress(self.rule.name(), asked_by(self.rule))
        part = f"state of {self.rule.name()}"
        state = self._guard.call(part, lambda: as_json(self._state), "{}")
        return RuleProgress(
            rule=self.rule.name(),
            asked=asked_by(self.rule),
            leg=self._leg,
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
        """How it stands."""
        summary = self._summary()  # first: a rule that fails at it has failed
        status, why = self._status(is_over=is_over)
        pages = self.rule.pages()
        return Evaluation(
            rule=self.rule.name(),
            setting=self.rule.setting,
            status=status,
            parameters=self.rule.parameters,
            description=pages.question,
            recommendation=pages.advice,
            reason=None if why is None else str(why),
            traceback=self._traceback,
            datapoints=self._datapoints,
            triggered=self._triggered,
            seconds=self._seconds,
            episodes=tuple(self.episodes.all.values()),
            summary=summary,
            explains=self.rule.explains,
            missing=self._missing(status),
            shortfall=why if isinstance(why, Shortfall) else None,
        )

    def _missing(self, status: RuleStatus) -> tuple[str, ...]:
        """The kinds of data without which it has looked at nothing."""
        is_blind = status is RuleStatus.NOT_APPLICABLE and not self._datapoints
        name = self.rule.name()
        if not is_blind or self._guard.call(name, lambda: self.rule.unfit(self._state), ""):
            return ()
        return tuple(dict.fromkeys(type(one).__name__ for one in self.needs))

    def _summary(self) -> Evidence:
        nothing: Evidence = {}
        if self.has_failed:
            return nothing
        part = f"summary of {self.rule.name()}"
        return self._guard.call(part, lambda: plain(dict(self.rule.summary(self._state))), nothing)

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
            missing = " and ".join(one.missing for one in self.needs)
            reason = missing or "it looked at nothing"
            return (
                (RuleStatus.NOT_APPLICABLE, reason) if is_over else (RuleStatus.IN_PROGRESS, None)
            )
        nothing: str | Shortfall = ""
        lacks = self._guard.call(name, lambda: self.rule.lacks(self._state), nothing)
        if lacks:
            return RuleStatus.NOT_ENOUGH_DATA, lacks
        return (RuleStatus.NO_ISSUES_FOUND if is_over else RuleStatus.IN_PROGRESS), None

    def _failed(self, part: str, error: BaseException) -> None:
        self._reason = mask_text(f"{part}: {type(error).__name__}: {error}")
        self._traceback = mask_text("".join(traceback.format_exception(error)))


def _masked(finding: Finding) -> Finding:
    """A finding without secrets: a rule may say anything."""
    message, advice = _masked_text(finding.message), _masked_text(finding.advice)
    if (message, advice) == (finding.message, finding.advice):
        return finding
    return replace(finding, message=message, advice=advice)


@lru_cache(maxsize=1024)
def _masked_text(text: str) -> str:
    return mask_text(text)


def asked_by(rule: Rule) -> str:
    """The question of a rule as one text: its setting and its parameters."""
    return json.dumps(
        {"setting": rule.setting, "given": sorted(rule.given), **rule.parameters}, default=str
    )


def _restored(state: object) -> State:
    """Plain JSON as the state a rule had."""
    found = State()
    if isinstance(state, dict):
        for name, value in state.items():
            found[name] = _restored(value) if isinstance(value, dict) else value
    return found
