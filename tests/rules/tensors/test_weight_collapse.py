"""WeightCollapse: planted faults and their healthy twins."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

LAYERS = ("a.weight", "b.weight", "c.weight")

Level = Callable[[int], float]


def check(job: FakeJob) -> Evaluation:
    return job.job().check("WeightCollapse")["WeightCollapse"]


def training(weights: Level | Mapping[str, Level], loss: Level, steps: int = 600) -> FakeJob:
    """Record weights of these sizes at every 40th step."""
    job = FakeJob()
    worker = job.worker()
    levels = weights if isinstance(weights, Mapping) else dict.fromkeys(LAYERS, weights)
    for name in levels:
        worker.add_tensor(name, "weights")
    for step in range(steps):
        for name, level in levels.items() if step % 40 == 0 else ():
            worker.statistics(name, step, [level(step), -level(step)])
        worker.scalar("loss", step, loss(step)).step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def shrinks(step: int) -> float:
    return 0.1 * float(np.exp(-step / 60))


def chance(_step: int) -> float:
    return 2.3


def falls(step: int) -> float:
    return 2.3 * float(np.exp(-step / 100)) + 0.1


def test_shrinking_weights_are_reported_while_the_loss_stays_at_chance() -> None:
    [episode] = check(training(shrinks, chance)).episodes
    assert episode.is_open
    assert "3 of 3 weights have shrunk" in episode.finding.message
    assert float(str(episode.finding.evidence["ratio"])) < 0.1


def test_collapsed_weights_are_reported_whatever_the_loss() -> None:
    assert check(training(shrinks, falls)).episodes


HEALTHY: dict[str, tuple[Level | Mapping[str, Level], Level]] = {
    "constant weights": (lambda _: 0.1, chance),
    "decay in balance with the loss": (lambda s: 0.1 * max(0.06, float(np.exp(-s / 60))), falls),
    "decay to a third at chance": (lambda s: 0.1 * max(0.3, float(np.exp(-s / 60))), chance),
    "one layer is made sparse": (
        {"a.weight": shrinks, "b.weight": lambda _: 0.1, "c.weight": lambda _: 0.1},
        chance,
    ),
    "weights that are not finite": (lambda s: 0.1 if s < 200 else float("nan"), chance),
    "layers that start at zero": (lambda s: s * 1e-4, falls),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_weights_are_not_reported(name: str) -> None:
    result = check(training(*HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
