"""Marks in the queue of a device: its phases, and whether it is late."""

from dataclasses import dataclass

import pytest

from sonde.clock import NANOSECONDS
from sonde.hook.session import Session
from sonde.hook.torch.loop.device_phases import Marks
from sonde.records.step import Phase
from sonde.settings import HookSettings, WorkerPlacement
from tests.fakes.clock import FakeClock

FORWARD, BACKWARD = Phase.FORWARD.value, Phase.BACKWARD.value
HOOK_NS = 1_000_000


@dataclass
class Mark:
    is_reached: bool

    def record(self) -> None:
        """The test decides when the device reaches the mark."""

    def query(self) -> bool:
        return self.is_reached


class Training:
    """A session whose marks a device reaches at once, or late."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_late: bool) -> None:
        session = self.session = Session(
            WorkerPlacement(node="node-a"), HookSettings(), FakeClock()
        )
        self._marks = Marks(session)
        monkeypatch.setattr(Marks, "_mark", lambda _: Mark(is_reached=not is_late))
        vars(self._marks)["_is_on"] = True

    def step(self) -> None:
        for phase in (FORWARD, BACKWARD):
            self._marks.begin(phase)
            self._marks.end(phase)
        overhead = self.session.overhead
        overhead.charge(HOOK_NS)
        overhead.account(0, NANOSECONDS)


@pytest.mark.parametrize(("is_late", "seconds"), [(False, HOOK_NS / NANOSECONDS), (True, 0.0)])
def test_hooks_cost_nothing_while_the_device_is_behind_the_host(
    monkeypatch: pytest.MonkeyPatch, *, is_late: bool, seconds: float
) -> None:
    training = Training(monkeypatch, is_late=is_late)

    training.step()

    assert training.session.overhead.budget.hook_seconds == seconds
    assert training.session.overhead.was_hidden == is_late


def test_a_step_without_a_backward_pass_is_never_free(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(monkeypatch, is_late=True)
    training.step()

    training.session.overhead.charge(HOOK_NS)
    training.session.overhead.account(0, 2 * NANOSECONDS)

    assert training.session.overhead.budget.hook_seconds == HOOK_NS / NANOSECONDS
