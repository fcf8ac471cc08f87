"""Stall monitor: stacks are recorded while training is stuck, and the end of the stall."""

import sys
from typing import Any

import pytest
import torch

from sonde.hook.session import Session
from sonde.hook.stall_stacks import StallMonitor, describe_stack
from sonde.records.observations.training import Stall
from sonde.settings import HookSettings, WorkerPlacement
from tests.fakes.clock import FakeClock


class ManualSession:
    """A session that the test flushes, with its observations."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        self.session = Session(WorkerPlacement(node="node-a"), HookSettings(), self.clock)
        self.session.thread.claim()
        self.observations: list[tuple[str, str, float, str]] = []
        monkeypatch.setattr(self.session.recorder, "observe", self._observe)
        StallMonitor(self.session).start()
        for begin in self.session.listeners._begin:
            if isinstance(getattr(begin, "__self__", None), StallMonitor):
                begin()

    def _observe(self, kind: str, subject: str, value: float = 0.0, detail: str = "") -> None:
        self.observations.append((kind, subject, value, detail))

    def wait(self, seconds: float) -> None:
        """Advance the clock, with a flush every two seconds."""
        for _ in range(int(seconds / 2)):
            self.clock.advance(2.0)
            self.session.listeners.flush()


def test_stall_is_sampled_again_after_twice_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manual = ManualSession(monkeypatch)
    manual.wait(2)
    assert manual.observations == []
    manual.wait(80)
    assert [value for _, _, value, _ in manual.observations] == [4.0, 6.0, 12.0, 24.0, 48.0]
    kind, line, _, detail = manual.observations[0]
    assert kind == "standing-still"
    assert line.startswith("wait (test_stall_stacks.py:")
    assert Stall.decode(detail).activity == ""


def test_end_of_a_stall_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    manual = ManualSession(monkeypatch)
    manual.wait(12)
    manual.session.steps.counts["train"] += 1
    manual.wait(4)
    assert [value for _, _, value, _ in manual.observations] == [4.0, 6.0, 12.0, 0.0]


def test_steps_of_any_mode_count_as_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    manual = ManualSession(monkeypatch)
    for step in range(20):
        manual.wait(2)
        manual.session.steps.counts["eval"] = step
    assert manual.observations == []


def test_activity_of_the_framework_is_recorded() -> None:
    descriptions: list[tuple[str, str]] = []
    tensor: Any = torch.ones(1, requires_grad=True)
    tensor.register_hook(lambda _gradient: descriptions.append(describe_stack(sys._getframe())))
    tensor.sum().backward()
    [(line, detail)] = descriptions
    assert "(test_stall_stacks.py:" in line
    assert Stall.decode(detail).activity == "backward"
