"""Phases by the device's own clock: marks in its queue, read when it has passed them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.records.step import EventCategory

_MILLISECOND_NS = 1_000_000
_MOST_MARKS = 64  # in one step: a loop of very many micro-steps is marked at its beginning only

Mark = Any  # a CUDA event
_is_in_use: Callable[[], bool] = torch.cuda.is_initialized
_Stretch = tuple[str, Mark, Mark]


@dataclass(slots=True)
class _OnTheWay:
    """The marks of one step, until the device has passed the last of them."""

    marks: "Marks"
    step: FinishedStep
    stretches: list[_Stretch]

    def is_ready(self) -> bool:
        return bool(self.stretches[-1][2].query())

    def take(self) -> None:
        self.marks.read(self.step, self.stretches)


class Marks:
    """Puts marks around the phases of a step once a device is in use.

    The first mark is taken to be passed at once: whatever was queued before it shifts all device
    phases of the process by the same amount, and none of their lengths.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_on = False
        self._lane = ""
        self._origin: Mark = None
        self._origin_ns = 0
        self._begun: dict[str, Mark] = {}
        self._stretches: list[_Stretch] = []
        self._free: deque[Mark] = deque()
        session.listeners.on_step("device phases", self._step_over)

    def begin(self, phase: str) -> None:
        """A phase begins."""
        if self._is_on and len(self._stretches) < _MOST_MARKS:
            self._begun[phase] = self._mark()

    def end(self, phase: str) -> None:
        """A phase ends."""
        begun = self._begun.pop(phase, None) if self._is_on else None
        if begun is not None:
            self._stretches.append((phase, begun, self._mark()))

    def read(self, step: FinishedStep, stretches: list[_Stretch]) -> None:
        """Turns marks that the device has passed into events."""
        category = EventCategory.DEVICE.value
        for phase, first, last in stretches:
            start_ns = self._origin_ns + int(self._origin.elapsed_time(first) * _MILLISECOND_NS)
            length_ns = int(first.elapsed_time(last) * _MILLISECOND_NS)
            self._session.recorder.event(
                (phase, category, self._lane, start_ns, length_ns, step.number, step.mode, "")
            )
            self._free += (first, last)

    def _step_over(self, step: FinishedStep) -> None:
        stretches, self._stretches = self._stretches, []
        if stretches:
            self._session.worker_thread.expect("device phases", _OnTheWay(self, step, stretches))
        if not self._is_on and _is_in_use():
            self._turn_on()

    def _turn_on(self) -> None:
        if torch.cuda.is_current_stream_capturing():
            return
        self._lane = device_in_use()
        self._origin = self._mark()
        self._origin_ns = self._session.clock.now_ns()
        self._is_on = True

    def _mark(self) -> Mark:
        mark: Mark = self._free.popleft() if self._free else torch.Event("cuda", enable_timing=True)
        self._session.overhead.queue("mark", mark.record)
        return mark


def device_in_use() -> str:
    """The device of the calling thread, if the process uses any."""
    return f"cuda:{torch.cuda.current_device()}" if _is_in_use() else "cpu"
