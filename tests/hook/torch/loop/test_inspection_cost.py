"""The cost of inspections, measured by comparing steps with and without hooks."""

from dataclasses import replace

import pytest

from sonde.hook.session import Session
from sonde.hook.torch.loop import inspection_cost
from sonde.hook.torch.loop.inspection_cost import InspectionCost
from sonde.settings import HookSettings, WorkerPlacement
from tests.fakes.clock import FakeClock

MICROSECOND = 1_000


class Training:
    """A training thread with manual clocks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._cpu_ns = 0
        monkeypatch.setattr(inspection_cost, "thread_cpu_ns", lambda: self._cpu_ns)
        self._clock = FakeClock()
        hook = replace(HookSettings(), profile=())
        self.session = Session(WorkerPlacement(node="node-a"), hook, self._clock)
        self.cost = InspectionCost(self.session)

    def train(self, steps: int, microseconds: int, *, is_stopped: bool = False) -> None:
        self.session.steps.counts["train"] += steps
        self._cpu_ns += steps * microseconds * MICROSECOND
        if not is_stopped:
            self._clock.advance(steps * microseconds / 1e6)

    def inspect(self, microseconds: int, *, has_evaluated: bool = False) -> None:
        self.cost.hooks_return()
        self.train(1, microseconds)
        self.cost.hooks_leave(has_evaluated=has_evaluated)
        self.cost.settle()


def test_extra_time_of_inspected_steps_is_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training = Training(monkeypatch)
    training.cost.hooks_leave(has_evaluated=False)
    training.train(100, 500)

    training.inspect(3500)

    assert training.session.overhead.budget.hook_seconds == pytest.approx(0.003)


def test_time_measured_by_hooks_is_not_charged_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training = Training(monkeypatch)
    training.cost.hooks_leave(has_evaluated=False)
    training.train(100, 500)
    training.cost.hooks_return()
    training.train(1, 3500)
    training.session.overhead.budget.add_step(0.0035, 0.002)
    training.cost.hooks_leave(has_evaluated=False)

    training.cost.settle()

    assert training.session.overhead.budget.hook_seconds == pytest.approx(0.003)


def test_an_evaluation_is_not_charged_as_inspection_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training = Training(monkeypatch)
    training.cost.hooks_leave(has_evaluated=False)
    training.train(100, 500)

    training.inspect(90_000, has_evaluated=True)

    assert training.session.overhead.budget.hook_seconds == 0.0


def test_readings_of_a_stopped_clock_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(monkeypatch)
    training.cost.hooks_leave(has_evaluated=False)
    training.train(100, 500, is_stopped=True)

    training.inspect(3500)

    assert training.session.overhead.budget.hook_seconds == 0.0
