"""GradientNormSpike: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import inspected_steps, with_losses

STEPS = 500


def norms(spread: float = 0.4, seed: int = 0) -> FloatArray:
    return np.asarray(np.exp(spread * np.random.default_rng(seed).standard_normal(STEPS)))


def evaluate(values: FloatArray, factors: FloatArray | None = None) -> Evaluation:
    scalars = {"gradient_norm": values.tolist()}
    if factors is not None:
        scalars["clip_factor"] = factors.tolist()
    job = with_losses(np.ones(STEPS), scalars=scalars)
    return job.job().check("GradientNormSpike")["GradientNormSpike"]


@pytest.mark.parametrize("seed", range(3))
def test_a_norm_far_out_of_range_is_found(seed: int) -> None:
    values = norms(seed=seed)
    values[321] = 500.0
    [episode] = evaluate(values).episodes
    assert (episode.first_step, episode.severity) == (321, Severity.WARNING)
    assert episode.finding.evidence["norm"] == 500.0
    assert not episode.is_open


def test_a_spike_is_resolved_by_one_normal_window_at_the_end_of_the_job() -> None:
    values = norms()
    values[STEPS - 60] = 500.0
    [episode] = evaluate(values).episodes
    assert not episode.is_open


@pytest.mark.parametrize(("before_end", "is_open"), [(20, False), (4, False), (1, True)])
def test_a_spike_in_the_last_window_is_resolved_by_normal_norms_after_it(
    before_end: int, is_open: bool
) -> None:
    values = norms()
    values[STEPS - before_end] = 500.0
    [episode] = evaluate(values).episodes
    assert (episode.first_step, episode.is_open) == (STEPS - before_end, is_open)


@pytest.mark.parametrize("after", [30.0, np.inf])
def test_a_spike_in_the_last_window_is_ongoing_if_norms_stay_large(after: float) -> None:
    values = norms()
    values[STEPS - 20] = 500.0
    values[STEPS - 19 :] *= after
    [episode] = evaluate(values).episodes
    assert episode.is_open


def test_a_spike_between_inspections_in_the_last_window_is_resolved() -> None:
    values = norms()
    values[400] = 4000.0  # the last inspection is at step 450
    assert max(inspected_steps(STEPS)) == 450
    [episode] = evaluate_inspections(values).episodes
    assert not episode.is_open


def test_a_spike_that_was_clipped_is_info() -> None:
    values = norms()
    values[321] = 500.0
    [episode] = evaluate(values, np.minimum(1.0, 1.0 / values)).episodes
    assert episode.severity is Severity.INFO
    assert "it was clipped" in episode.finding.message


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_heavy_tails_are_healthy(spread: float, seed: int) -> None:
    result = evaluate(norms(spread, seed))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_steadily_growing_norms_are_not_a_spike() -> None:
    assert evaluate(norms() * np.exp(np.arange(STEPS) / 60)).episodes == ()


def test_non_finite_norms_are_not_reported() -> None:
    values = norms()
    values[::50] = np.inf
    values[7::50] = np.nan
    assert evaluate(values).episodes == ()


def evaluate_inspections(values: FloatArray) -> Evaluation:
    """Evaluate norms of few steps, and averages of the optimizer for the steps in between."""
    job = FakeJob()
    worker = job.worker()
    inspected = inspected_steps(STEPS)
    before = 0
    for step in range(STEPS):
        if step in inspected:
            worker.scalar("gradient_norm", step, float(values[step]))
            if step - before >= 8:
                between = float(np.sqrt(np.square(values[before:step]).mean()))
                worker.scalar("gradient_norm/between", step, between)
                before = step
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end().job().check("GradientNormSpike")["GradientNormSpike"]


@pytest.mark.parametrize("seed", range(3))
def test_a_spike_between_recorded_norms_is_found(seed: int) -> None:
    values = norms(seed=seed)
    values[150] = 2000.0
    assert 150 not in inspected_steps(STEPS)
    [episode] = evaluate_inspections(values).episodes
    assert episode.finding.steps is not None
    first, last = episode.finding.steps
    assert first <= 150 <= last
    assert last - first < 80
    norm = episode.finding.evidence["norm"]
    assert isinstance(norm, float)
    assert 100 < norm < 2000
    assert "at least" in episode.finding.message


def test_a_spike_after_which_norms_are_larger_for_a_while_is_found() -> None:
    values = norms(0.2)
    values[150] = 2000.0
    values[151:250] *= 8.0
    assert len(evaluate_inspections(values).episodes) == 1


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_heavy_tails_between_inspections_are_healthy(spread: float, seed: int) -> None:
    result = evaluate_inspections(norms(spread, seed))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_permanently_larger_norms_between_inspections_are_not_a_spike() -> None:
    values = norms(0.1)
    values[150:] *= 1000.0  # the model begins to learn
    assert evaluate_inspections(values).episodes == ()


def test_without_norms_between_inspections_more_data_is_needed() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(STEPS):
        if step in inspected_steps(STEPS):
            worker.scalar("gradient_norm", step, 1.0)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    result = job.end().job().check("GradientNormSpike")["GradientNormSpike"]
    assert "of 51 gradient norms" in (result.reason or "")
