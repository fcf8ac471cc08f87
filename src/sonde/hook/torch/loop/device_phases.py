"""Phase times on the device clock, measured with CUDA events in the stream."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.records.step import EventCategory, Phase

_FORWARD, _BACKWARD = Phase.FORWARD.value, Phase.BACKWARD.value
_MILLISECOND_NS = 1_000_000
_MAX_MARKS = 64  # per step; later micro-steps of the step are not marked

Mark = Any  # a CUDA event
_is_in_use: Callable[[], bool] = torch.cuda.is_initialized
_MarkedInterval = tuple[str, Mark, Mark]


@dataclass(slots=True)
class _PendingMarks:
    """The marks of a step that the device has not reached yet."""

    marks: "Marks"
    step: FinishedStep
    intervals: list[_MarkedInterval]

    def is_ready(self) -> bool:
        return bool(self.intervals[-1][2].query())

    def take(self) -> None:
        self.marks.read(self.step, self.intervals)


class Marks:
    """Records CUDA events around the phases of a step once a device is in use.

    The first mark is assumed to complete immediately. Work queued before it shifts all device
    phases of the process by the same amount and leaves their durations unchanged.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_on = False
        self._lane = ""
        self._origin: Mark = None
        self._origin_ns = 0
        self._begun: dict[str, Mark] = {}
        self._forward_end: Mark = None
        self._intervals: list[_MarkedInterval] = []
        self._free: deque[Mark] = deque()
        session.listeners.on_step("device phases", self._after_step)

    def begin(self, phase: str) -> None:
        """Mark the start of a phase."""
        if self._is_on and len(self._intervals) < _MAX_MARKS:
            self._begun[phase] = self._mark()

    def end(self, phase: str) -> None:
        """Mark the end of a phase."""
        begun = self._begun.pop(phase, None) if self._is_on else None
        if begun is None:
            return
        mark = self._mark()
        self._intervals.append((phase, begun, mark))
        if phase == _FORWARD:
            self._forward_end = mark
        elif phase == _BACKWARD and self._forward_end is not None:
            # the device is late by a whole backward pass, so hooks cannot delay it
            self._session.overhead.set_hidden(not self._forward_end.query())

    def read(self, step: FinishedStep, intervals: list[_MarkedInterval]) -> None:
        """Record completed marks as events."""
        category = EventCategory.DEVICE.value
        for phase, first, last in intervals:
            start_ns = self._origin_ns + int(self._origin.elapsed_time(first) * _MILLISECOND_NS)
            length_ns = int(first.elapsed_time(last) * _MILLISECOND_NS)
            self._session.recorder.event(
                (phase, category, self._lane, start_ns, length_ns, step.number, step.mode, "")
            )
            self._free += (first, last)

    def _after_step(self, step: FinishedStep) -> None:
        intervals, self._intervals, self._forward_end = self._intervals, [], None
        if intervals:
            self._session.worker_thread.expect(
                "device phases", _PendingMarks(self, step, intervals)
            )
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
    """The CUDA device of the calling thread, or `cpu` if CUDA is not in use."""
    return f"cuda:{torch.cuda.current_device()}" if _is_in_use() else "cpu"


def device_name_in_use() -> str:
    """The model of the CUDA device of the calling thread; empty if CUDA is not in use."""
    return str(torch.cuda.get_device_name()) if _is_in_use() else ""
