"""NoGradient: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

OTHER_LAYERS = ("b.weight", "b.bias")


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("NoGradient")["NoGradient"]


def training(use: str = "", *, steps: int = 150, over_at: int | None = None) -> FakeJob:
    """a.weight has no gradient; the hook says so at step 6."""
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


def test_a_layer_that_is_run_and_cut_off_is_found_at_once() -> None:
    [episode] = judged(training("cut", steps=12)).episodes
    assert (episode.first_step, episode.finding.tensor) == (1, "a.weight")
    assert "detached from the loss" in episode.finding.message
    assert episode.finding.evidence["others"] == 2


def test_a_layer_under_no_grad_is_found_at_once_with_its_place() -> None:
    [episode] = judged(training("untracked model.py:12", steps=12)).episodes
    assert (episode.first_step, episode.severity) == (1, Severity.WARNING)
    assert "under no_grad() at model.py:12" in episode.finding.message


def test_a_loaded_layer_under_no_grad_may_be_frozen_on_purpose_and_is_a_hint() -> None:
    [episode] = judged(training("frozen model.py:12")).episodes
    assert (episode.is_open, episode.severity) == (True, Severity.INFO)


def test_a_layer_whose_output_goes_nowhere_is_a_hint_at_once() -> None:
    [episode] = judged(training("side", steps=12)).episodes
    assert episode.severity == Severity.INFO
    assert "does not use" in episode.finding.message


@pytest.mark.parametrize("use", ["", "unused"])
def test_a_layer_that_nobody_uses_is_a_hint_after_long(use: str) -> None:
    assert judged(training(use)).episodes == ()
    [episode] = judged(training(use, steps=250)).episodes
    assert (episode.is_open, episode.severity) == (True, Severity.INFO)


def test_a_layer_that_is_run_without_gradients_now_and_then_is_left_alone() -> None:
    result = judged(training("frozen"))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_head_that_has_its_turn_now_and_then_is_left_alone() -> None:
    assert judged(training("unused", over_at=190, steps=400)).episodes == ()


def test_a_layer_that_was_skipped_at_the_beginning_is_left_alone() -> None:
    assert judged(training("unused", over_at=14)).episodes == ()


def test_a_cut_that_is_mended_recovers() -> None:
    [episode] = judged(training("cut", over_at=80)).episodes
    assert not episode.is_open


def test_an_optimizer_that_steps_with_nothing_is_found() -> None:
    [episode] = judged(training("cleared", steps=12)).episodes
    assert episode.severity == Severity.WARNING
    assert "cleared after the backward pass" in episode.finding.message
