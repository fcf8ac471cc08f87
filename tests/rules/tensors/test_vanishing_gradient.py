"""VanishingGradient: planted faults and their healthy twins."""

import math
from collections.abc import Callable

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from sonde.records.worker import TensorInfo
from tests.fakes.job import FakeJob
from tests.fakes.training import with_gradients, with_tensors


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("VanishingGradient", **parameters)["VanishingGradient"]


def test_layers_with_tiny_gradients_are_reported_worst_first() -> None:
    job = with_gradients(
        {
            "layers.0.weight": lambda _: 1e-12,
            "layers.1.weight": lambda _: 1e-9,
            "layers.8.weight": lambda _: 1e-3,
        },
        60,
    )
    [episode] = check(job).episodes
    finding = episode.finding
    assert finding.tensor == "gradient/layers.0.weight"
    assert "layers.0.weight and 1 more" in finding.message
    assert finding.evidence["tensors"] == ["gradient/layers.0.weight", "gradient/layers.1.weight"]
    assert (episode.first_step, episode.last_step) == (0, 59)


def test_gradients_recorded_every_20_steps_suffice() -> None:
    means = {"first.weight": lambda _: 1e-12, "last.weight": lambda _: 1e-3}
    [episode] = check(with_gradients(means, 300, every=20)).episodes
    assert episode.is_open
    assert episode.finding.tensor == "gradient/first.weight"


def test_two_recorded_steps_suffice_for_extremely_small_gradients() -> None:
    means = {"gates.weight": lambda _: 1e-11, "last.weight": lambda _: 1e-2}
    [episode] = check(with_gradients(means, 160, every=99)).episodes
    assert (episode.first_step, episode.last_step) == (0, 99)
    assert episode.finding.tensor == "gradient/gates.weight"


def test_two_recorded_steps_are_not_enough_for_small_gradients() -> None:
    means = {"gates.weight": lambda _: 5e-8, "last.weight": lambda _: 1e-2}
    assert check(with_gradients(means, 160, every=99)).episodes == ()


HEALTHY = {
    "normal gradients": {"first": lambda _: 1e-4, "last": lambda _: 1e-2},
    "converges as a whole": {"first": lambda s: 1e-4 * 0.8**s, "last": lambda s: 1e-2 * 0.8**s},
    "small for a few steps": {"first": lambda s: 1e-9 if s < 5 else 1e-4, "last": lambda _: 1e-2},
    "zero at the first step": {"first": lambda s: 0.0 if s == 0 else 1e-4, "last": lambda _: 1.0},
    "a small loss scale everywhere": {"first": lambda _: 2e-8, "last": lambda _: 4e-7},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_gradients_are_not_reported(name: str) -> None:
    result = check(with_gradients(HEALTHY[name], 80))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_sparse_embedding_gradients_are_not_reported() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("gradient/embedding", "gradients")
    worker.add_tensor("gradient/head", "gradients")
    for step in range(40):
        worker.statistics("gradient/embedding", step, [0.0] * 9999 + [1e-4])
        worker.statistics("gradient/head", step, [1e-2, -1e-2]).step(step, {"forward": 0.1})
    worker.flush()
    job.end()
    assert check(job).episodes == ()
    assert check(job, setting="classic").triggered == 40


def test_bias_before_a_normalization_is_not_reported() -> None:
    job = FakeJob()
    worker = job.worker()
    bias = TensorInfo("gradient/conv.bias", ("gradients",), "float32", (8,))
    worker._tensors[bias.name] = bias
    worker.add_tensor("gradient/conv.weight", "gradients")
    for step in range(40):
        worker.statistics("gradient/conv.bias", step, [1e-11, -1e-11])
        worker.statistics("gradient/conv.weight", step, [1e-3, -1e-3]).step(step, {"forward": 0.1})
    worker.flush()
    assert check(job.end()).episodes == ()


@pytest.mark.parametrize("steps", [100, 300])
def test_short_job_with_few_inspections_suffices(steps: int) -> None:
    tensors = {
        "gradient/first.weight": ("gradients", lambda _: [1e-12, -1e-12]),
        "gradient/last.weight": ("gradients", lambda _: [1e-3, -1e-3]),
    }
    [episode] = check(with_tensors(tensors, steps)).episodes
    assert check(with_tensors(tensors, steps, at=(0, 40, 90))).episodes
    assert (episode.first_step, episode.finding.tensor) == (0, "gradient/first.weight")


def test_layer_that_learns_after_the_first_inspections_is_not_reported() -> None:
    tensors = {
        "gradient/first": ("gradients", lambda step: [1e-12 if step < 25 else 1e-3]),
        "gradient/last": ("gradients", lambda _: [1e-3]),
    }
    assert check(with_tensors(tensors, 100)).episodes == ()


def test_layer_that_is_skipped_occasionally_is_not_reported() -> None:
    tensors = {
        "gradient/skipped": ("gradients", lambda step: [0.0 if step % 9 else 1e-3]),
        "gradient/unused": ("gradients", lambda _: [0.0]),
        "gradient/last": ("gradients", lambda _: [1e-3]),
    }
    assert check(with_tensors(tensors, 300)).episodes == ()


def test_short_job_reports_how_much_data_is_missing() -> None:
    result = check(with_gradients({"first": lambda _: 1e-12, "last": lambda _: 1e-2}, 6))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    text = "Not enough data: 5 of 35 steps between inspections"
    assert result.reason == text


def test_explicit_threshold_applies() -> None:
    means = {"first.weight": lambda _: 5e-7, "last.weight": lambda _: 1e-2}
    assert check(with_gradients(means, 40)).episodes == ()
    assert check(with_gradients(means, 40), threshold=1e-6).episodes


def test_classic_setting_follows_the_documented_criterion() -> None:
    means = {"w": lambda step: 0.9e-7 if step in (3, 4, 9) else 1.1e-7}
    result = check(with_gradients(means, 20), setting="classic")
    assert result.triggered == 3
    [episode] = result.episodes
    assert (episode.first_step, episode.last_step) == (3, 9)


def with_values(values: dict[str, Callable[[int], list[float]]], steps: int) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for name in values:
        worker.add_tensor(f"gradient/{name}", "gradients")
    for step in range(steps):
        if step % 10 == 0:
            for name, at in values.items():
                worker.statistics(f"gradient/{name}", step, at(step))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_loss_that_reaches_no_parameter_is_reported() -> None:
    job = with_values({"first": lambda _: [0.0, 0.0], "last": lambda _: [0.0]}, 200)
    [episode] = check(job).episodes
    assert "All 2 gradients have been exactly zero since step 0" in episode.finding.message
    assert "detach()" in episode.finding.advice
    assert episode.is_open


NONZERO = {
    "zero at first": {"first": lambda step: [0.0, float(step > 80)]},
    "zero at the end": {"first": lambda step: [0.0, float(step < 20)]},
    "an unused layer": {"first": lambda _: [0.0, 0.0], "last": lambda _: [1e-3]},
    "sparse rows": {"embedding": lambda step: [0.0, 1e-3 * (step % 50 == 0)], "b": lambda _: [1.0]},
    "NaN": {"first": lambda _: [math.nan, 0.0]},
}


@pytest.mark.parametrize("name", NONZERO)
def test_any_nonzero_gradient_prevents_the_all_zero_finding(name: str) -> None:
    assert check(with_values(NONZERO[name], 300)).episodes == ()


def test_zero_gradients_of_a_short_training_are_not_reported() -> None:
    assert check(with_values({"first": lambda _: [0.0, 0.0]}, 90)).episodes == ()
