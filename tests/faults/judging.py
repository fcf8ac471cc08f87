"""What rules say about a run, and when they could say it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sonde.client.job import open_job
from sonde.clock import SystemClock
from sonde.read.job_data import JobData
from sonde.read.window import Window
from sonde.records.finding import Episode, RuleStatus, Severity
from sonde.rules import Rule
from sonde.rules._selection import select_rules
from sonde.store.backends import open_backend
from sonde.watch.course import Course, Limit
from sonde.watch.progress import RuleProgress
from sonde.watch.runner import Runner
from tests.faults.program import Fault, Parameters, Program, Variant
from tests.faults.recordings import CACHE, Run, record

_OTHER_SEED = 100  # further: no seed of ours


@dataclass(frozen=True)
class Alarm:
    """A finding: what it says, and the step after which it could be said."""

    rule: str
    severity: str
    message: str
    about: str  # everything in it that may name the culprit
    said_at: int | None  # None: the rule looks at seconds, not at steps

    @property
    def is_advice(self) -> bool:
        """Whether it is worth a look, and nobody is to be woken."""
        return self.severity == Severity.INFO.value


@dataclass(frozen=True)
class Outcome:
    """What all rules made of one run."""

    program: Program
    variant: Variant
    seed: int
    alarms: tuple[Alarm, ...]
    statuses: Mapping[str, str]  # by rule
    errors: tuple[str, ...]  # rules that failed, a program that ended badly
    seconds: float
    training_seconds: float = 0.0  # from the first to the last training step

    @property
    def is_fault(self) -> bool:
        """Whether something is wrong in it."""
        return self.program.fault is not None and self.variant is Variant.FAULTY

    @property
    def fault(self) -> Fault:
        """What is wrong in it."""
        assert self.program.fault is not None
        return self.program.fault

    @property
    def loud(self) -> tuple[Alarm, ...]:
        """Findings that are more than advice."""
        return tuple(one for one in self.alarms if not one.is_advice)

    @property
    def is_detected(self) -> bool:
        """Whether anything was said about it that is more than advice, or the right thing."""
        return any(_is_after(one, self.fault) for one in self.loud) or self.is_rule_right

    @property
    def is_rule_right(self) -> bool:
        """Whether the rule said it that is meant for it."""
        return bool(self._right)

    @property
    def is_named(self) -> bool:
        """Whether that rule also named the culprit."""
        return any(self.fault.culprit.lower() in one.about.lower() for one in self._right)

    @property
    def delay(self) -> int | None:
        """After how many steps it could be said."""
        said = [one.said_at for one in self._right if one.said_at is not None]
        return max(0, min(said) - self.fault.step) if said else None

    @property
    def beside(self) -> tuple[Alarm, ...]:
        """What else was said, and does not follow from the fault."""
        expected = (self.fault.rule, *self.fault.instead, *self.fault.also)
        return tuple(one for one in self.loud if one.rule not in expected)

    @property
    def _right(self) -> list[Alarm]:
        rules = (self.fault.rule, *self.fault.instead)
        return [one for one in self.alarms if one.rule in rules and _is_after(one, self.fault)]


def judge(run: Run, cache: Path = CACHE, *, may_be_old: bool = False) -> Outcome:
    """Trains a program, unless that was done, and asks all rules about it."""
    recording = record(run, cache, may_be_old=may_be_old)
    expected = run.program.fault.code if run.program.fault and run.variant is Variant.FAULTY else 0
    errors = [] if recording.code == expected else [f"{run} ended with {recording.code}"]
    given = {**run.program.given, **_compared(run, cache, may_be_old=may_be_old)}
    said_at: dict[str, int | None] = {}
    data = JobData(open_backend(recording.job), SystemClock())
    runner = Runner(data, select_rules(given=given), begin=partial(_Noting, said_at))
    runner.advance()
    evaluations = runner.evaluations
    failed = [one for one in evaluations if one.status is RuleStatus.ERROR]
    errors += [f"{run}: {one.rule}: {one.reason}" for one in failed]
    alarms = [
        _alarm(episode, said_at[episode.id]) for one in evaluations for episode in one.episodes
    ]
    statuses = {one.rule: one.status.value for one in evaluations}
    return Outcome(
        run.program,
        run.variant,
        run.seed,
        tuple(alarms),
        statuses,
        tuple(errors),
        recording.seconds,
        _training_seconds(recording.job),
    )


def _training_seconds(job: str) -> float:
    stages = open_job(job).summary["stages"] or {}
    return float(stages.get("training_loop", {}).get("seconds", 0.0))


def _compared(run: Run, cache: Path, *, may_be_old: bool) -> Parameters:
    """Which other job a rule is told to compare the run with."""
    if not run.program.beside:
        return {}
    other = Run(run.program, run.variant, run.seed + _OTHER_SEED)
    return {run.program.beside: {"other_trial": record(other, cache, may_be_old=may_be_old).job}}


class _Noting(Course):
    """Notes the last step that had to be seen before an episode could open."""

    def __init__(
        self, said_at: dict[str, int | None], rule: Rule, progress: RuleProgress, limit: Limit
    ) -> None:
        super().__init__(rule, progress, limit)
        self._said_at = said_at

    def show(self, index: int, window: Window) -> list[Episode]:
        changed = super().show(index, window)
        for episode in changed:
            self._said_at.setdefault(episode.id, _last_step(window))
        return changed


def _last_step(window: Window) -> int | None:
    steps = window.steps_range
    return None if steps is None or steps.end is None else steps.end - 1


def _alarm(episode: Episode, said_at: int | None) -> Alarm:
    finding = episode.finding
    worker = "" if finding.worker is None else f"worker {finding.worker}"
    named = (finding.tensor, finding.device, finding.node, worker, finding.message)
    about = " ".join(one for one in named if one)
    return Alarm(finding.rule, episode.severity.value, finding.message, about, said_at)


def _is_after(alarm: Alarm, fault: Fault) -> bool:
    return alarm.said_at is None or alarm.said_at >= fault.step
