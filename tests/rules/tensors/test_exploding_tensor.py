"""ExplodingTensor: planted faults and their healthy twins."""

from collections.abc import Callable
from math import inf, nan

import pytest

from sonde.engine.runner import Recorder
from sonde.records.finding import Evaluation, RuleStatus, Severity
from sonde.rules.tensors.exploding_tensor import ExplodingTensor
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses, with_tensors


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("ExplodingTensor", **parameters)["ExplodingTensor"]


def test_nan_loss_is_critical_and_reported_at_its_step() -> None:
    [episode] = check(with_losses([2.0] * 23 + [nan] * 20)).episodes
    assert (episode.first_step, episode.last_step) == (23, 42)
    assert (episode.severity, episode.finding.tensor) == (Severity.CRITICAL, "loss")
    assert episode.finding.message == "loss is NaN at step 23."


@pytest.mark.parametrize(("value", "episodes"), [(nan, 1), (2.0, 0)])
def test_running_job_gets_the_finding_within_ten_steps(value: float, episodes: int) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(152):
        loss = value if step >= 140 else 2.0
        worker.scalar("loss", step, loss).step(step, {"forward": 10.0})
    worker.flush()
    job.beat()
    assert len(check(job).episodes) == episodes


def test_job_that_ends_with_its_first_nan_is_critical() -> None:
    [episode] = check(with_losses([2.0] * 23 + [nan])).episodes
    assert episode.severity is Severity.CRITICAL
    assert episode.finding.message == "loss is NaN at step 23."


def test_single_infinite_loss_is_a_warning() -> None:
    [episode] = check(with_losses([2.0] * 19 + [inf] + [1.9] * 50)).episodes
    assert (episode.severity, episode.is_open) == (Severity.WARNING, False)


def test_nan_weight_is_critical_immediately() -> None:
    values = {"fc.weight": ("weights", lambda step: [0.1, nan if step >= 8 else 0.2])}
    [episode] = check(with_tensors(values, 10)).episodes
    assert (episode.severity, episode.first_step) == (Severity.CRITICAL, 8)
    assert episode.finding.tensor == "fc.weight"


def test_weight_that_becomes_infinite_is_critical() -> None:
    values = {"fc.weight": ("weights", lambda step: [0.1, inf if step >= 8 else 0.2])}
    [episode] = check(with_tensors(values, 30)).episodes
    assert (episode.severity, episode.first_step) == (Severity.CRITICAL, 8)


def test_finding_names_the_origin_of_non_finite_values() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(20):
        worker.scalar("loss", step, nan if step > 4 else 1.0)
        if step == 6:  # traced in the next pass
            detail = {"found": "inf", "in": "output"}
            worker.observation("first-non-finite", "head.log", step, detail, value=5)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    [episode] = check(job.end()).episodes
    assert episode.finding.message.endswith("at step 5. First seen in the output head.log.")
    assert episode.first_step == 5


def test_steps_skipped_by_a_gradient_scaler_are_not_reported() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("gradient/fc", "gradients")
    for step in range(30):
        is_skipped = step in (0, 1, 2, 20)
        worker.statistics("gradient/fc", step, [inf if is_skipped else 0.1, 0.2])
        worker.scalar("gradient_norm", step, inf if is_skipped else 0.3)
        worker.scalar("loss", step, 1.0).step(step, {"forward": 0.1}, skipped=is_skipped)
    worker.flush()
    result = check(job.end())
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


HEALTHY: dict[str, tuple[str, Callable[[int], list[float]]]] = {
    "large but finite": ("gradients", lambda step: [1e30, -1e30]),
    "a mask among the inputs": ("inputs", lambda step: [-inf, 0.0]),
    "a mask among the weights": ("weights", lambda step: [-inf, 0.1 * step]),
    "log-probabilities of zero among the outputs": ("outputs", lambda step: [-inf, -0.1]),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_tensors_are_not_reported(name: str) -> None:
    values = {"fc": HEALTHY[name], "gradient/x": ("gradients", lambda step: [0.1, 0.2])}
    assert check(with_tensors(values, 60)).episodes == ()


def test_only_selected_tensors_are_checked() -> None:
    values = {
        "mask": ("inputs", lambda step: [-inf, 0.0]),
        "fc.weight": ("weights", lambda step: [nan, 0.0]),
    }
    job = with_tensors(values, 30)
    [episode] = check(job, collection_names=("inputs",)).episodes
    assert episode.finding.tensor == "mask"
    assert check(job, collection_names=("inputs",), only_nan=True).episodes == ()
    assert check(job, tensor_regex="^fc").episodes[0].finding.tensor == "fc.weight"


def test_rule_does_not_apply_without_recorded_data() -> None:
    result = check(with_losses([]))
    assert result.status is RuleStatus.NOT_APPLICABLE


def test_classic_setting_follows_the_documented_criterion() -> None:
    values = {
        "a": ("weights", lambda step: [nan if step == 3 else 1.0]),
        "b": ("inputs", lambda step: [inf if step in (1, 2) else 1.0]),
    }
    job = with_tensors(
        values, 6, at=range(6), scalars={"loss": lambda step: nan if step == 4 else 1}
    )
    result = check(job, setting="classic")
    assert result.triggered == 4  # a once, b twice, the loss once
    assert {(episode.finding.tensor, episode.first_step) for episode in result.episodes} == {
        ("a", 3), ("b", 1), ("loss", 4),
    }  # fmt: skip
    assert check(job, setting="classic", only_nan=True).triggered == 2


@pytest.mark.parametrize("setting", ["calibrated", "classic"])
@pytest.mark.parametrize("steps", [0, 1, 20, 23])
@pytest.mark.parametrize("seconds_after", [0.1, 30.0])
def test_refused_optimizer_step_is_critical_at_any_position(
    setting: str, steps: int, seconds_after: float
) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.scalar("loss", step, 1.0)
        worker.step(step, {"forward": 0.1})
    job.clock.advance(seconds_after)
    refused_ns = job.clock.now_ns()
    worker.observation("first-non-finite", "fc", steps, {"found": "nan", "in": "output"})
    worker.observation("refused-step", "fc.weight, fc.bias", steps, "", value=1.0)
    worker.beat(is_over=True)
    worker.flush()
    job.clock.advance(1.0)
    [episode] = check(job.end(), setting=setting).episodes
    assert episode.severity is Severity.CRITICAL
    assert (episode.first_step, episode.last_step) == (steps, steps)
    assert (episode.first_ns, episode.last_ns) == (refused_ns, refused_ns)
    assert episode.finding.message == (
        f"The gradients of fc.weight, fc.bias are not finite at step {steps}. The job was stopped "
        "before the optimizer used them. First seen in the output fc."
    )


def test_step_refused_by_all_workers_is_reported_for_the_first_one() -> None:
    job = FakeJob()
    workers = [job.worker(rank=rank) for rank in (0, 1)]
    for worker in reversed(workers):
        worker.step(0, {"forward": 0.1})
        worker.observation("refused-step", "weight", 1, "", value=1.0)
        worker.beat(is_over=True)
        worker.flush()
        job.clock.advance(0.1)
    [episode] = check(job.end()).episodes
    assert episode.finding.worker == 0


def test_refused_step_is_reported_once_over_several_runs() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(20):
        worker.step(step, {"forward": 0.1})
    job.clock.advance(30.0)
    worker.observation("refused-step", "weight", 20, "", value=1.0)
    worker.beat(is_over=True)
    worker.flush()
    job.end()
    for _ in range(2):
        recorder = Recorder(job.backend, job.clock, [ExplodingTensor()])
        recorder.advance()
    [evaluation] = recorder.runner.evaluations
    assert [episode.triggered for episode in evaluation.episodes] == [1]
