"""Running rules over the windows of a job: findings do not depend on the time of polls."""

import signal
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.clock import NANOSECONDS
from sonde.engine import rule_progress
from sonde.engine.runner import Recorder, Runner
from sonde.engine.saved_progress import Progress, load_progress
from sonde.engine.time_limits import cpu_time_limit
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.records.finding import Episode, Evaluation, RuleStatus, Setting, Severity
from sonde.rules import Rule
from sonde.rules.steps.step_outlier import StepOutlier
from sonde.rules.system.low_gpu_utilization import LowGPUUtilization
from sonde.rules.tensors.loss_not_decreasing import LossNotDecreasing
from sonde.rules.tensors.vanishing_gradient import VanishingGradient
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses
from tests.rules.own_rules import Broken, Endless, Hoarder, LossTooLarge, Quiet

STEPS = 260


def evaluate(job: FakeJob, *rules: Rule) -> tuple[Evaluation, ...]:
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), rules)
    runner.advance()
    return runner.evaluations


def test_a_runner_accepts_a_custom_rule_run() -> None:
    job = with_losses([1.0] * 60)
    shown: list[int] = []

    class Noting(rule_progress.RuleRun):
        def evaluate(self, index: int, window: Window) -> list[Episode]:
            shown.append(index)
            return super().evaluate(index, window)

    rules = [LossTooLarge(limit=0.5)]
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), rules, begin=Noting)
    runner.advance()
    assert shown == list(range(60 // LossTooLarge.window_steps))
    assert [len(evaluation.episodes) for evaluation in runner.evaluations] == [1]


def all_rules() -> list[Rule]:
    """Return different rules in both settings, sensitive enough to report many findings."""
    return [
        LossNotDecreasing(num_steps=60),
        VanishingGradient(),
        StepOutlier(n_outliers=2),
        LowGPUUtilization(window=20),
        LossTooLarge(limit=2.6),
        LossNotDecreasing(setting=Setting.CLASSIC),
        VanishingGradient(setting=Setting.CLASSIC),
        StepOutlier(setting=Setting.CLASSIC, n_outliers=2),
        LowGPUUtilization(setting=Setting.CLASSIC, window=20),
    ]


def grow(job: FakeJob, polls: set[int], seed: int, poll: "object") -> None:
    """Record two workers that train, die and resume; call `poll` at the given steps."""
    rng = np.random.default_rng(seed)
    index = 0
    for attempt in (1, 2):
        workers = [job.worker(rank, attempt, world_size=2) for rank in (0, 1)]
        for worker in workers:
            worker.add_tensor("gradient/first", "gradients").add_tensor(
                "gradient/last", "gradients"
            )
        start = 0 if attempt == 1 else STEPS // 2
        for step in range(start, start + STEPS // 2):
            seconds = 1.5 if step % 30 == 7 else 0.1
            now = job.clock.now_ns()
            for worker in workers:
                job.clock._now_ns = now
                worker.scalar("loss", step, 2.3 + 0.2 * rng.standard_normal())
                worker.statistics("gradient/first", step, [1e-10, -1e-10])
                worker.statistics("gradient/last", step, [1e-2, -1e-2])
                worker.step(step, {"data_wait": seconds - 0.05, "forward": 0.05})
            busy = [0.0 if step % 4 else 99.0]
            job.record({"gpu.utilization_percent/gpu0": busy}, 0.0)
            index += 1
            if index in polls:
                for worker in workers:
                    worker.flush()
                assert callable(poll)
                poll()
        for worker in workers:
            worker.flush()
    job.end()


def summaries(evaluations: tuple[Evaluation, ...]) -> list[tuple[object, ...]]:
    return [
        (
            evaluation.rule,
            evaluation.status,
            evaluation.datapoints,
            evaluation.triggered,
            evaluation.reason,
            evaluation.episodes,
        )
        for evaluation in evaluations
    ]


@settings(max_examples=12)
@given(
    polls=st.sets(st.integers(1, STEPS), max_size=8),
    restarts=st.lists(st.booleans(), min_size=8, max_size=8),
    seed=st.integers(0, 3),
)
def test_findings_do_not_depend_on_how_the_data_arrives(
    polls: set[int], restarts: list[bool], seed: int
) -> None:
    job = FakeJob()
    watching = [Runner(JobData(OpenJob(job.backend, job.clock)), all_rules())]
    pending = iter(restarts)

    def poll() -> None:
        watching[0].advance()
        if next(pending, False):  # the watcher was killed and resumes from its saved progress
            recorder_state = watching[0].progress
            watching[0] = Runner(
                JobData(OpenJob(job.backend, job.clock)), all_rules(), recorder_state
            )

    grow(job, polls, seed, poll)
    watching[0].advance()
    afterwards = evaluate(job, *all_rules())
    assert summaries(watching[0].evaluations) == summaries(afterwards)
    assert {action.rule for action in afterwards if action.episodes} >= {
        *("VanishingGradient", "StepOutlier", "LowGPUUtilization", "LossTooLarge"),
    }


def test_a_window_is_evaluated_when_its_data_is_complete() -> None:
    job = FakeJob()
    worker = job.worker()
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [LossTooLarge(limit=0.5)])
    for step in range(10):
        worker.scalar("loss", step, 1.0).step(step, {"forward": 0.1})
    worker.flush()
    assert runner.advance() == []
    for step in range(10, 40):
        worker.scalar("loss", step, 0.1).step(step, {"forward": 0.1})
    worker.flush()
    [result] = runner.advance()
    assert (result.first_step, result.last_step, result.triggered) == (0, 9, 10)


def test_a_broken_rule_is_stopped_with_its_traceback_and_no_other_is() -> None:
    broken, good = evaluate(with_losses([2.0] * 60), Broken(), LossTooLarge())
    assert broken.status is RuleStatus.ERROR
    assert "RuntimeError: this rule is broken" in (broken.reason or "")
    assert "own_rules.py" in (broken.traceback or "")
    assert broken.datapoints == 30
    assert (good.status, good.triggered) == (RuleStatus.ISSUES_FOUND, 60)


def test_a_rule_that_is_too_slow_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_progress, "MAX_SECONDS_PER_WINDOW", -1.0)
    [slow] = evaluate(with_losses([2.0] * 60), LossTooLarge())
    assert slow.status is RuleStatus.ERROR
    assert "for one window" in (slow.reason or "")


def test_a_rule_that_never_returns_is_stopped_and_no_other_is() -> None:
    job = with_losses([2.0] * 60)
    data = JobData(OpenJob(job.backend, job.clock))
    runner = Runner(data, [Endless(), LossTooLarge()], limit=partial(cpu_time_limit, 0.2))
    runner.advance()
    endless, good = runner.evaluations
    assert endless.status is RuleStatus.ERROR
    assert "TooSlowError: exceeded the limit of 200 ms per window" in (endless.reason or "")
    assert good.triggered == 60
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL


def test_a_state_that_cannot_be_stored_fails_only_its_rule() -> None:
    job = with_losses([2.0] * 60)
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [Hoarder(), LossTooLarge()])
    runner.advance()
    stored = {rule.rule: rule for rule in runner.progress.rules}
    hoarder, good = runner.evaluations
    assert hoarder.status is RuleStatus.ERROR
    assert "cannot store a set" in (hoarder.reason or "")
    assert stored["LossTooLarge"].state == '{"sum":120.0}'
    assert good.status is RuleStatus.ISSUES_FOUND


def test_a_rule_without_its_data_is_not_applicable_and_says_which() -> None:
    [quiet] = evaluate(with_losses([1.0] * 60), Quiet())
    assert quiet.status is RuleStatus.NOT_APPLICABLE
    assert quiet.reason == (
        "no samples of gpu.utilization_percent recorded and no scalars reward recorded"
    )


def test_a_rule_of_a_running_job_is_in_progress() -> None:
    job = FakeJob()
    job.worker().flush()
    [rule] = evaluate(job, LossTooLarge())
    assert rule.status is not RuleStatus.NO_ISSUES_FOUND


def test_an_episode_opens_gets_worse_recovers_and_recurs() -> None:
    losses = [0.5] * 20 + [2.0] * 10 + [20.0] * 10 + [2.0] * 10 + [0.5] * 40 + [3.0] * 10
    [rule] = evaluate(with_losses(losses), LossTooLarge())
    first, second = rule.episodes
    assert (first.first_step, first.last_step, first.triggered) == (20, 49, 30)
    assert (first.severity, first.is_open) == (Severity.CRITICAL, False)
    assert first.finding.message == "20"
    assert (second.first_step, second.severity, second.is_open) == (90, Severity.WARNING, True)


def test_time_and_steps_of_a_finding_come_from_its_data() -> None:
    job = with_losses([0.5] * 20 + [2.0] * 10 + [0.5] * 30)
    [rule] = evaluate(job, LossTooLarge())
    [episode] = rule.episodes
    began = JobData(OpenJob(job.backend, job.clock)).attempts[0].start_ns
    seconds = [(item - began) / NANOSECONDS for item in (episode.first_ns, episode.last_ns)]
    assert seconds == pytest.approx([2.0, 3.0])


def test_findings_are_recorded_once_and_can_be_read() -> None:
    job = with_losses([0.5] * 20 + [2.0] * 10 + [0.5] * 40)
    for _ in range(2):  # the second run has no new data
        Recorder(job.backend, job.clock, [LossTooLarge()]).advance()
    judged = job.job().judgement()
    assert [evaluation.rule for evaluation in judged] == ["LossTooLarge"]
    [finding] = job.job().findings()
    assert (finding.first_step, finding.triggered, finding.is_open) == (20, 10, False)
    assert judged["LossTooLarge"].triggered == 10
    [rule] = job.job().summary["rules"]
    assert (rule["rule"], rule["status"]) == ("LossTooLarge", "IssuesFound")
    assert rule["findings"][0]["step"] == [20, 29]


def test_progress_is_saved_when_episodes_open_or_close_and_rarely_in_between() -> None:
    job = FakeJob()
    worker = job.worker()
    recorder = Recorder(job.backend, job.clock, [LossTooLarge()])
    stored, seconds = [], []
    for poll in range(8):
        for step in range(40 * poll, 40 * poll + 40):
            worker.scalar("loss", step, 2.0 if poll < 7 else 0.1).step(step, {"forward": 0.1})
        worker.flush()
        assert recorder.advance()  # the episode opens, continues and closes
        stored.append(load_progress(job.backend).rules[0].index)
        seconds.append(job.clock.seconds())
    assert seconds[6] - seconds[0] < 30
    assert stored[0] == stored[6] < stored[7]


def test_changed_parameters_discard_recorded_episodes() -> None:
    job = with_losses([0.5] * 20 + [2.0] * 10 + [0.5] * 40)
    Recorder(job.backend, job.clock, [LossTooLarge()]).advance()
    Recorder(job.backend, job.clock, [LossTooLarge(limit=5.0)]).advance()
    [rule] = job.job().judgement()
    assert (rule.status, rule.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_evaluations_of_inactive_rules_are_retained() -> None:
    job = with_losses([0.5] * 20 + [2.0] * 10 + [0.5] * 40)
    Recorder(job.backend, job.clock, [LossTooLarge(), Broken()]).advance()
    Recorder(job.backend, job.clock, [Quiet()]).advance()
    judged = job.job().judgement()
    assert [evaluation.rule for evaluation in judged] == ["Quiet", "LossTooLarge", "Broken"]
    assert judged["LossTooLarge"].triggered == 10
    [finding] = job.job().findings()
    assert finding.triggered == 10


def test_a_rule_that_is_no_longer_active_is_stopped() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        worker.scalar("loss", step, 0.5).step(step, {"forward": 0.1})
    worker.flush()
    Recorder(job.backend, job.clock, [LossTooLarge()]).advance()
    Recorder(job.backend, job.clock, [Quiet()]).advance()
    evaluation = job.job().judgement()["LossTooLarge"]
    assert (evaluation.status, evaluation.reason) == (
        RuleStatus.STOPPED,
        "the rule is no longer active",
    )


def test_changed_parameters_restart_the_evaluation() -> None:
    job = with_losses([2.0] * 40)
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [LossTooLarge()])
    runner.advance()
    repeated = Runner(
        JobData(OpenJob(job.backend, job.clock)), [LossTooLarge(limit=1.5)], runner.progress
    )
    repeated.advance()
    assert [evaluation.triggered for evaluation in repeated.evaluations] == [40]
    assert Progress().of("LossTooLarge", "").index == 0


def test_the_cost_of_each_rule_is_recorded() -> None:
    [rule] = evaluate(with_losses([2.0] * 60), LossTooLarge())
    assert rule.seconds > 0
