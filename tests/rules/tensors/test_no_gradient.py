"""NoGradient: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

OTHER_LAYERS = ("b.weight", "b.bias")


def check(job: FakeJob) -> Evaluation:
    return job.job().check("NoGradient")["NoGradient"]


def training(use: str = "", *, steps: int = 150, over_at: int | None = None) -> FakeJob:
    """The hook reports at step 6 that `a.weight` has no gradient."""
    job = FakeJob()
    worker = job.worker()
    for name in OTHER_LAYERS:
        worker.add_tensor(f"gradient/{name}", "gradients")
    for step in range(steps):
        if step == 6:
            worker.observation("no-gradient", "a.weight", step, use, value=6)
        if step == over_at:
            worker.observation("no-gradient", "a.weight", step, "over", value=0)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_layer_cut_off_from_the_loss_is_reported_immediately() -> None:
    [episode] = check(training("cut", steps=12)).episodes
    assert (episode.first_step, episode.finding.tensor) == (1, "a.weight")
    assert "detached from the loss" in episode.finding.message
    assert episode.finding.evidence["others"] == 2


def test_layer_under_no_grad_is_reported_immediately_with_its_location() -> None:
    [episode] = check(training("untracked model.py:12", steps=12)).episodes
    assert (episode.first_step, episode.severity) == (1, Severity.WARNING)
    assert "under no_grad() at model.py:12" in episode.finding.message


def test_pretrained_layer_under_no_grad_is_info() -> None:
    [episode] = check(training("frozen model.py:12")).episodes
    assert (episode.is_open, episode.severity) == (True, Severity.INFO)


def test_layer_with_unused_output_is_info_immediately() -> None:
    [episode] = check(training("side", steps=12)).episodes
    assert episode.severity == Severity.INFO
    assert "does not use" in episode.finding.message


@pytest.mark.parametrize("use", ["", "unused"])
def test_layer_that_never_runs_is_info_after_200_steps(use: str) -> None:
    assert check(training(use)).episodes == ()
    [episode] = check(training(use, steps=250)).episodes
    assert (episode.is_open, episode.severity) == (True, Severity.INFO)


def test_layer_that_runs_without_gradients_occasionally_is_not_reported() -> None:
    result = check(training("frozen"))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_head_that_is_used_occasionally_is_not_reported() -> None:
    assert check(training("unused", over_at=190, steps=400)).episodes == ()


def test_layer_skipped_at_the_start_is_not_reported() -> None:
    assert check(training("unused", over_at=14)).episodes == ()


def test_finding_is_resolved_when_gradients_reach_the_layer_again() -> None:
    [episode] = check(training("cut", over_at=80)).episodes
    assert not episode.is_open


def test_optimizer_that_steps_without_gradients_is_reported() -> None:
    [episode] = check(training("cleared", steps=12)).episodes
    assert episode.severity == Severity.WARNING
    assert "cleared after the backward pass" in episode.finding.message
