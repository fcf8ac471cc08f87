"""Scalars from a device, without waiting for it."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.torch.tensors.shards import full_tensor
from sonde.records.notice import NoticeKind

_MAX_PENDING = 256

_new_event: Callable[[], Any] = torch.cuda.Event

Term = tuple[Tensor | float, float]  # a value and its weight
Transform = Callable[[float], float]  # applied to the weighted sum


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    terms: list[Term]
    at: StepId
    time_ns: int
    transform: Transform | None = None
    source: str = "hook"


@dataclass(slots=True)
class _Transfer:
    """Scalars that a device is copying into pinned memory."""

    scalars: "DeviceScalars"
    event: Any
    memory: Tensor
    requests: list[_Request]

    def is_ready(self) -> bool:
        return bool(self.event.query())

    def take(self) -> None:
        values = iter(self.memory.tolist())
        for request in self.requests:
            total = 0.0
            for value, weight in request.terms:
                total += weight * (next(values) if isinstance(value, Tensor) else value)
            number = total if request.transform is None else request.transform(total)
            self.scalars.session.recorder.scalar(
                request.name, number, request.source, request.at, request.time_ns
            )
        self.scalars.free.append(self.memory)


class DeviceScalars:
    """Record weighted sums, now or when the device has computed them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.free: deque[Tensor] = deque()
        self._requests: list[_Request] = []

    def record(
        self,
        name: str,
        terms: Sequence[Term],
        at: StepId,
        transform: Transform | None = None,
        time_ns: int | None = None,
    ) -> None:
        """Record a weighted sum of a step; its terms may be on a device."""
        if len(terms) == 1 and type(terms[0][0]) is float and transform is None:
            self.session.recorder.scalar(name, terms[0][0] * terms[0][1], at=at)
        elif any(isinstance(value, Tensor) for value, _ in terms):
            moment_ns = self.session.clock.now_ns() if time_ns is None else time_ns
            self._enqueue(_Request(name, list(terms), at, moment_ns, transform))
        else:
            total = sum(weight * float(value) for value, weight in terms)
            self.session.recorder.scalar(
                name, total if transform is None else transform(total), at=at
            )

    def record_tensor(self, name: str, value: Tensor, source: str, at: StepId) -> None:
        """Record a tensor with one element; it may be on a device."""
        full = full_tensor(value)
        if full is None:
            reason = "this worker holds only a shard of it"
            self.session.store.notice(NoticeKind.NOT_COLLECTED, name, reason)
            return
        number = full.detach().reshape(())
        if number.device.type == "cpu":
            self.session.recorder.scalar(name, float(number), source, at)
        else:
            now_ns = self.session.clock.now_ns()
            self._enqueue(_Request(name, [(number.clone(), 1.0)], at, now_ns, source=source))

    def _enqueue(self, request: _Request) -> None:
        """Queue a request until the step is over, or until too many are queued."""
        self._requests.append(request)
        if len(self._requests) >= _MAX_PENDING and self.session.thread.is_current():
            self.send()

    def send(self) -> None:
        """Start copying all queued numbers."""
        if not self._requests:
            return
        requests, self._requests = self._requests, []
        by_device: dict[torch.device, list[_Request]] = {}
        for request in requests:
            tensors = [value for value, _ in request.terms if isinstance(value, Tensor)]
            by_device.setdefault(tensors[0].device, []).append(request)
        for device, group in by_device.items():
            self.session.overhead.queue("scalars", self._send, group, device)

    def _send(self, requests: list[_Request], device: torch.device) -> None:
        tensors = [
            value for request in requests for value, _ in request.terms if isinstance(value, Tensor)
        ]
        with torch.no_grad():
            stacked = _stacked(tensors, device)
            memory = self.free.popleft() if self.free else None
            if memory is None or memory.numel() != stacked.numel():
                memory = _pinned_memory(stacked.numel())
            memory.copy_(stacked, non_blocking=True)
        transfer = _Transfer(self, _event_after_work(device), memory, requests)
        self.session.worker_thread.expect("scalars", transfer)


def _pinned_memory(count: int) -> Tensor:
    return torch.empty(count, dtype=torch.float64, device="cpu", pin_memory=True)


def _event_after_work(device: torch.device) -> Any:
    """An event that the device reaches after all work queued so far."""
    event = _new_event()
    event.record(torch.cuda.current_stream(device))
    return event


def _stacked(tensors: Sequence[Tensor], device: torch.device) -> Tensor:
    """All numbers in one tensor; with few operations if they have the same type."""
    flat = [tensor.reshape(()) for tensor in tensors]
    first = flat[0]
    if all(tensor.dtype == first.dtype and tensor.device == device for tensor in flat):
        return torch.stack(flat).to(torch.float64)
    return torch.stack([tensor.to(device, torch.float64) for tensor in flat])
