"""Rules on losses do not fire on healthy training of many kinds."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.fakes.healthy_losses import HEALTHY
from tests.fakes.job import FakeJob
from tests.fakes.small_trainings import TRAININGS, train

RULES = (
    *("LossNotDecreasing", "LossSpike", "LossDiverging", "GradientNormSpike"),
    *("LearningRateCollapse", "ClipSaturation"),
)


def alarms(scalars: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the findings on a job with these scalars at every step."""
    job = FakeJob()
    worker = job.worker()
    for step, values in enumerate(zip(*scalars.values(), strict=True)):
        for name, value in zip(scalars, values, strict=True):
            worker.scalar(name, step, float(value))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    check = job.end().job().check(*RULES)
    return [episode.finding.message for rule in RULES for episode in check[rule].episodes]


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_loss_is_not_reported(kind: str) -> None:
    run = HEALTHY[kind](np.random.default_rng(1))
    scalars = {name: values.tolist() for name, values in run.scalars.items()}
    assert alarms({"loss": run.losses.tolist(), **scalars}) == []


@pytest.mark.parametrize("kind", TRAININGS)
def test_a_real_training_is_not_reported(kind: str) -> None:
    assert alarms(train(kind, seed=1)) == []
