"""Single numbers from the device, without ever waiting for it."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.torch.tensors.shards import whole
from sonde.records.notice import NoticeKind

_MOST_WANTED = 256

_new_event: Callable[[], Any] = torch.cuda.Event

Part = tuple[Tensor | float, float]  # a value and its weight
Then = Callable[[float], float]  # what is done with their sum


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    parts: list[Part]
    at: tuple[str, int]
    then: Then | None = None
    source: str = "hook"


@dataclass(slots=True)
class _OnTheWay:
    """Numbers that a device is about to deliver into pinned memory."""

    scalars: "Scalars"
    event: Any
    memory: Tensor
    wanted: list[_Wanted]

    def is_ready(self) -> bool:
        return bool(self.event.query())

    def take(self) -> None:
        values = iter(self.memory.tolist())
        for wanted in self.wanted:
            total = 0.0
            for value, weight in wanted.parts:
                total += weight * (next(values) if isinstance(value, Tensor) else value)
            number = total if wanted.then is None else wanted.then(total)
            self.scalars.session.recorder.scalar(wanted.name, number, wanted.source, wanted.at)
        self.scalars.free.append(self.memory)


class Scalars:
    """Records sums of weighted values, at once or when the device has them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.free: deque[Tensor] = deque()
        self._wanted: list[_Wanted] = []

    def record(
        self, name: str, parts: Sequence[Part], at: tuple[str, int], then: Then | None = None
    ) -> None:
        """A number of a step; its parts may still be on a device."""
        if len(parts) == 1 and type(parts[0][0]) is float and then is None:
            self.session.recorder.scalar(name, parts[0][0] * parts[0][1], at=at)
        elif any(isinstance(value, Tensor) for value, _ in parts):
            self._want(_Wanted(name, list(parts), at, then))
        else:
            total = sum(weight * float(value) for value, weight in parts)
            self.session.recorder.scalar(name, total if then is None else then(total), at=at)

    def told(self, name: str, value: Tensor, source: str, at: tuple[str, int]) -> None:
        """A number that somebody else computed; it may be on a device."""
        here = whole(value)
        if here is None:
            why = "this worker has only a part of its values"
            self.session.store.notice(NoticeKind.NOT_COLLECTED, name, why)
            return
        number = here.detach().reshape(())
        if number.device.type == "cpu":
            self.session.recorder.scalar(name, float(number), source, at)
        else:
            self._want(_Wanted(name, [(number.clone(), 1.0)], at, source=source))

    def _want(self, wanted: _Wanted) -> None:
        """Until the step is over; but there are loops whose steps nobody sees."""
        self._wanted.append(wanted)
        if len(self._wanted) >= _MOST_WANTED and self.session.thread.is_current():
            self.send()

    def send(self) -> None:
        """Starts the copy of all numbers that were asked for since the last time."""
        if not self._wanted:
            return
        wanted, self._wanted = self._wanted, []
        by_device: dict[torch.device, list[_Wanted]] = {}
        for one in wanted:
            tensors = [value for value, _ in one.parts if isinstance(value, Tensor)]
            by_device.setdefault(tensors[0].device, []).append(one)
        for device, group in by_device.items():
            self.session.overhead.queue("scalars", self._send, group, device)

    def _send(self, wanted: list[_Wanted], device: torch.device) -> None:
        tensors = [value for one in wanted for value, _ in one.parts if isinstance(value, Tensor)]
        with torch.no_grad():
            stacked = torch.stack([one.reshape(()).to(device, torch.float64) for one in tensors])
            memory = self.free.popleft() if self.free else None
            if memory is None or memory.numel() != stacked.numel():
                memory = torch.empty(
                    stacked.numel(), dtype=torch.float64, device="cpu", pin_memory=True
                )
            memory.copy_(stacked, non_blocking=True)
        event = _new_event()
        event.record(torch.cuda.current_stream(device))
        self.session.worker_thread.expect("scalars", _OnTheWay(self, event, memory, wanted))
