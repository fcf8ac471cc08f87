"""What the rules report about a run, and at which step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sonde.client.job import open_job
from sonde.engine.rule_progress import Limit, RuleRun
from sonde.engine.runner import Runner
from sonde.engine.saved_progress import RuleProgress
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.records.finding import Episode, RuleStatus, Severity
from sonde.rules import Rule
from sonde.rules._selection import select_rules
from sonde.store.backends import open_backend
from tests.faults.label import Label, Parameters
from tests.faults.program import Program, Variant
from tests.faults.recordings import CACHE, PYTHON, Recording, Run, record

_SEED_OFFSET = 100  # of the run to compare with: larger than any seed in use


@dataclass(frozen=True)
class Alarm:
    """A finding and the last step that the rule had data of when it reported it."""

    rule: str
    severity: str
    message: str
    subject: str  # all text of the finding that may name the culprit
    reported_at: int | None  # None: the rule works on seconds, not on steps

    @property
    def is_advice(self) -> bool:
        """Whether it is only informational."""
        return self.severity == Severity.INFO.value


@dataclass(frozen=True)
class Outcome:
    """What all rules reported about one run."""

    program: Program
    variant: Variant
    seed: int
    alarms: tuple[Alarm, ...]
    statuses: Mapping[str, str]  # by rule
    errors: tuple[str, ...]  # rules that failed, an unexpected exit code
    seconds: float
    training_seconds: float = 0.0  # from the first to the last training step

    @property
    def is_fault(self) -> bool:
        """Whether this run has a fault."""
        return self.program.has_fault and self.variant is Variant.FAULTY

    @property
    def label(self) -> Label:
        """The label of its program."""
        return self.program.label

    @property
    def loud(self) -> tuple[Alarm, ...]:
        """Findings above the severity of advice."""
        return tuple(alarm for alarm in self.alarms if not alarm.is_advice)

    @property
    def is_detected(self) -> bool:
        """Whether any rule reported more than advice, or the expected rule reported anything."""
        return any(_is_after_fault(alarm, self.label) for alarm in self.loud) or self.is_rule_right

    @property
    def is_rule_right(self) -> bool:
        """Whether the expected rule reported the fault."""
        return bool(self._expected_alarms)

    @property
    def is_named(self) -> bool:
        """Whether the expected rule also named the culprit."""
        culprit = self.label.culprit.lower()
        return any(culprit in alarm.subject.lower() for alarm in self._expected_alarms)

    @property
    def delay(self) -> int | None:
        """Steps from the first visible one to the report; None if there is no report."""
        steps = [
            alarm.reported_at for alarm in self._expected_alarms if alarm.reported_at is not None
        ]
        return max(0, min(steps) - self.label.first_step) if steps else None

    @property
    def unrelated(self) -> tuple[Alarm, ...]:
        """Alarms that are not explained by the fault."""
        label = self.label
        related = (label.rule, *label.alternatives, *label.side_effects)
        return tuple(alarm for alarm in self.loud if alarm.rule not in related)

    @property
    def _expected_alarms(self) -> list[Alarm]:
        rules = (self.label.rule, *self.label.alternatives)
        return [
            alarm
            for alarm in self.alarms
            if alarm.rule in rules and _is_after_fault(alarm, self.label)
        ]


def judge(
    run: Run,
    cache: Path = CACHE,
    *,
    accept_stale: bool = False,
    python: Sequence[str] = PYTHON,
) -> Outcome:
    """Train a program, unless a recording exists, and run all rules on it."""
    label = run.program.label
    find_recording = partial(record, cache=cache, accept_stale=accept_stale, python=python)
    recording = find_recording(run)
    expected_code = label.exit_code if run.variant is Variant.FAULTY else 0
    errors = [] if recording.code == expected_code else [f"{run} ended with {recording.code}"]
    parameters = {**label.parameters, **_comparison(run, find_recording)}
    reported_at: dict[str, int | None] = {}
    data = JobData(OpenJob(open_backend(recording.job)))
    runner = Runner(data, select_rules(parameters=parameters), begin=partial(_Timed, reported_at))
    runner.advance()
    evaluations = runner.evaluations
    errors += [
        f"{run}: {evaluation.rule}: {evaluation.reason}"
        for evaluation in evaluations
        if evaluation.status is RuleStatus.ERROR
    ]
    alarms = [
        _alarm(episode, reported_at[episode.id])
        for evaluation in evaluations
        for episode in evaluation.episodes
    ]
    return Outcome(
        run.program,
        run.variant,
        run.seed,
        tuple(alarms),
        {evaluation.rule: evaluation.status.value for evaluation in evaluations},
        tuple(errors),
        recording.seconds,
        _training_seconds(recording.job),
    )


def _training_seconds(job: str) -> float:
    stages = open_job(job).summary["stages"] or {}
    return float(stages.get("training_loop", {}).get("seconds", 0.0))


def _comparison(run: Run, find_recording: Callable[[Run], Recording]) -> Parameters:
    """Return the rule parameter with the job to compare the run with."""
    rule = run.program.label.compared_by
    if not rule:
        return {}
    second_run = Run(run.program, run.variant, run.seed + _SEED_OFFSET)
    return {rule: {"other_trial": find_recording(second_run).job}}


class _Timed(RuleRun):
    """Stores the last step in the window that opened an episode."""

    def __init__(
        self, reported_at: dict[str, int | None], rule: Rule, progress: RuleProgress, limit: Limit
    ) -> None:
        super().__init__(rule, progress, limit)
        self._reported_at = reported_at

    def evaluate(self, index: int, window: Window) -> list[Episode]:
        changed = super().evaluate(index, window)
        for episode in changed:
            self._reported_at.setdefault(episode.id, _last_step(window))
        return changed


def _last_step(window: Window) -> int | None:
    steps = window.steps_range
    return None if steps is None or steps.end is None else steps.end - 1


def _alarm(episode: Episode, reported_at: int | None) -> Alarm:
    finding = episode.finding
    worker = "" if finding.worker is None else f"worker {finding.worker}"
    texts = (finding.tensor, finding.device, finding.node, worker, finding.message)
    subject = " ".join(text for text in texts if text)
    return Alarm(finding.rule, episode.severity.value, finding.message, subject, reported_at)


def _is_after_fault(alarm: Alarm, label: Label) -> bool:
    return alarm.reported_at is None or alarm.reported_at >= label.first_step
