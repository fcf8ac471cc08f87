"""Cheap comparisons of workers are frequent, and all workers share some of the steps."""

from types import SimpleNamespace
from typing import Any

from sonde.hook.budget import Budget
from sonde.hook.torch.checks.measures.check_interval import CheckInterval
from sonde.settings import HookSettings


def compared_steps(
    steps: int, step_seconds: float, price_seconds: float, every: int = 1
) -> list[int]:
    """Return the steps with a comparison in a worker whose steps take this long."""
    budget = Budget(1.0)
    overhead = SimpleNamespace(budget=budget)
    session: Any = SimpleNamespace(
        overhead=overhead, settings=HookSettings(replica_check_every=every)
    )
    interval = CheckInterval(session)
    compared = []
    for step in range(steps):
        if interval.is_due(step):
            interval.adapt(step, price_seconds)
            if interval.is_due(step):
                compared.append(step)
        budget.add_step(step_seconds, 0.0)
    return compared


def test_long_steps_are_compared_at_every_step() -> None:
    assert compared_steps(20, step_seconds=0.5, price_seconds=1e-4) == list(range(20))


def test_short_steps_are_compared_at_powers_of_two_at_first() -> None:
    steps = compared_steps(200, step_seconds=0.005, price_seconds=1e-4)
    assert steps[:6] == [0, 1, 2, 4, 8, 16]
    assert [step for step in steps if step >= 32] == list(range(32, 200, 32))


def test_expensive_comparisons_are_rare() -> None:
    assert len(compared_steps(1000, step_seconds=0.1, price_seconds=0.1)) < 10


def test_workers_that_differ_have_steps_in_common() -> None:
    quick = set(compared_steps(300, step_seconds=0.005, price_seconds=1e-4))
    slow = set(compared_steps(300, step_seconds=0.005, price_seconds=5e-4))
    assert len(slow) < len(quick)
    assert slow <= quick


def test_comparisons_are_not_more_frequent_than_requested() -> None:
    assert compared_steps(10, step_seconds=0.5, price_seconds=0.0, every=3) == [0, 3, 6, 9]
    assert compared_steps(10, step_seconds=0.5, price_seconds=0.0, every=0) == []
