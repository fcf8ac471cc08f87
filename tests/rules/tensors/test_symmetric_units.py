"""SymmetricUnits: planted faults and their healthy twins."""

from collections.abc import Callable

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

INSPECTED_STEPS = (0, 1, 2, 3, 5, 8, 12, 18, 27, 41)

Distinct = Callable[[int], int]


def check(job: FakeJob) -> Evaluation:
    return job.job().check("SymmetricUnits")["SymmetricUnits"]


def training(
    distinct: Distinct,
    *,
    units: int = 64,
    gradient: float = 0.1,
    first_inspected: int = 0,
    layers: tuple[str, ...] = ("fc1",),
    optimizers: tuple[int, ...] = (0,),
) -> FakeJob:
    """Inspect layers from a step on; `optimizers`: steps at which optimizers start."""
    job = FakeJob()
    worker = job.worker()
    for layer in layers:
        worker.add_tensor(f"gradient/{layer}.weight", "gradients")
    for step in range(60):
        if step in optimizers:
            worker.observation("new-optimizer", str(step), step, {})
        for layer in layers if step in INSPECTED_STEPS and step >= first_inspected else ():
            detail = {"units": units}
            worker.observation("unit-copies", f"{layer}.weight", step, detail, value=distinct(step))
            worker.statistics(f"gradient/{layer}.weight", step, [gradient, -gradient])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


@pytest.mark.parametrize("groups", [1, 3])
def test_units_that_stay_copies_are_reported(groups: int) -> None:
    [episode] = check(training(lambda _: groups)).episodes
    finding = episode.finding
    assert (finding.tensor, episode.first_step) == ("fc1.weight", 0)
    assert f"only {groups} of 64 units" in finding.message


@pytest.mark.parametrize(("start", "is_reported"), [(12, True), (2, False)])
def test_copies_in_a_network_widened_later_are_reported_with_a_new_optimizer(
    start: int, is_reported: bool
) -> None:
    results = check(
        training(lambda _: 4, units=32, first_inspected=12, optimizers=(0, start))
    ).episodes
    assert [result.first_step for result in results] == ([12] if is_reported else [])


def test_copies_are_reported_with_a_second_optimizer_soon_after_the_first() -> None:
    [episode] = check(training(lambda _: 1, optimizers=(0, 1))).episodes
    assert episode.first_step == 0


def test_layers_of_zeros_without_gradients_are_reported() -> None:
    [episode] = check(training(lambda _: 1, gradient=0.0, layers=("fc1", "fc2"))).episodes
    assert episode.finding.evidence["tensors"] == ["fc1.weight", "fc2.weight"]


HEALTHY = {
    "random": (lambda _: 64, 0.1, 0),
    "zero at first": (lambda step: 1 if step == 0 else 64, 0.1, 0),
    "zero, and a learning rate of zero at the first step": (
        lambda step: 1 if step < 2 else 64,
        0.1,
        0,
    ),
    "zero, and no gradient": (lambda _: 1, 0.0, 0),
    "an embedding that starts at zero": (lambda step: 1 + 2 * step, 0.1, 0),
    "weights that collapse later": (lambda step: 64 if step < 18 else 1, 0.1, 0),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_layers_are_not_reported(name: str) -> None:
    distinct, gradient, first_inspected = HEALTHY[name]
    result = check(training(distinct, gradient=gradient, first_inspected=first_inspected))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
