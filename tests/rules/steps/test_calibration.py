"""Rules on losses leave trainings alone that are well, of every kind that we know."""

import numpy as np
import pytest

from tests.fakes.healthy_losses import HEALTHY
from tests.fakes.training import with_losses

RULES = ("LossNotDecreasing", "LossSpike", "LossDiverging", "LearningRateCollapse")


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_loss_is_left_alone(kind: str) -> None:
    run = HEALTHY[kind](np.random.default_rng(1))
    job = with_losses(run.losses, scalars={name: one.tolist() for name, one in run.scalars.items()})
    found = job.job().check(*RULES)
    assert {rule: found[rule].episodes for rule in RULES} == dict.fromkeys(RULES, ())
