"""ParameterOutlier: planted faults and their healthy twins."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

Weights = Callable[[str, int], FloatArray]
LAYERS = ("a.weight", "b.weight", "c.weight", "d.weight")


def check(job: FakeJob) -> Evaluation:
    return job.job().check("ParameterOutlier")["ParameterOutlier"]


def training(weights: Weights, ranks: int = 1) -> FakeJob:
    job = FakeJob()
    start_ns = job.clock.now_ns()
    for rank in range(ranks):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=ranks)
        for name in LAYERS:
            worker.add_tensor(name, "weights")
        for step in range(60):
            for name in LAYERS if step % 6 == 0 else ():
                worker.statistics(name, step, weights(name, step))
            worker.step(step, {"forward": 0.1})
        worker.flush()
    return job.end()


def typical_weights(_name: str, step: int) -> FloatArray:
    return np.asarray(0.05 * np.random.default_rng(step).standard_normal(256))


def flipped(to: float) -> Weights:
    def weights(name: str, step: int) -> FloatArray:
        values = typical_weights(name, step)
        if name == "b.weight" and step >= 30:
            values[7] = to
        return values

    return weights


@pytest.mark.parametrize(("to", "severity"), [(30.0, Severity.WARNING), (1e30, Severity.CRITICAL)])
def test_flipped_bit_is_reported_between_two_inspections(to: float, severity: Severity) -> None:
    [episode] = check(training(flipped(to))).episodes
    finding = episode.finding
    assert (finding.tensor, finding.severity) == ("b.weight", severity)
    assert (episode.first_step, episode.last_step) == (24, 30)


def test_matrix_overwritten_at_another_scale_is_reported() -> None:
    def weights(name: str, step: int) -> FloatArray:
        return typical_weights(name, step) * (1e3 if name == "d.weight" and step >= 30 else 1.0)

    [episode] = check(training(weights)).episodes
    assert (episode.finding.tensor, episode.first_step) == ("d.weight", 24)
    assert "Many weights" in episode.finding.message


HEALTHY: dict[str, Weights] = {
    "weights that move": typical_weights,
    "weights that grow": lambda name, step: typical_weights(name, step) * 1.3**step,
    "all explode": lambda name, step: typical_weights(name, step) * (1e6 if step >= 30 else 1.0),
    "one outlier that grows": lambda name, step: np.append(
        typical_weights(name, step), 0.2 * 1.1**step
    ),
    "a layer that starts at zero": lambda name, step: (
        typical_weights(name, step) * (1e-6 if name == "d.weight" and step < 30 else 1.0)
    ),
    "a matrix that jumps while it is still moving": lambda name, step: (
        typical_weights(name, step)
        * (5.0 ** (step // 6) if name == "d.weight" else 1.0)
        * (1 + 1e2 * (step >= 30))
    ),
    "one matrix explodes first, and the others follow": lambda name, step: (
        typical_weights(name, step) * ((1e6 if name == "d.weight" else 50.0) if step >= 30 else 1.0)
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_weights_are_not_reported(name: str) -> None:
    result = check(training(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_every_worker_is_checked() -> None:
    def weights(name: str, step: int) -> FloatArray:
        return flipped(1e9)(name, step)

    assert {episode.finding.worker for episode in check(training(weights, 2)).episodes} == {0, 1}
