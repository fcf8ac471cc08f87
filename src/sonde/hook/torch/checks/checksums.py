"""Checksums of whole models, to compare the replicas of all workers.

Nothing is sent between workers: each records its own checksum at the same steps.
"""

import ctypes
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.clock import thread_cpu_seconds
from sonde.hook.steps import StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.checks.measures.check_interval import CheckInterval
from sonde.hook.torch.checks.measures.replicas import Replica, Replicas
from sonde.hook.torch.tensors.snapshots import copies
from sonde.records.observation import ObservationKind
from sonde.records.observations.replicas import ReplicaChecksum
from sonde.records.step import Mode

_INLINE_BYTES = 2**16  # smaller models are summed inline, since copying costs about the same
_PATTERNS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

_new_event: Callable[[], Any] = torch.cuda.Event


@dataclass(slots=True)
class _PendingSums:
    """Sums of bit patterns that a device is computing."""

    memory: Tensor
    event: Any
    record: Callable[[str], None]

    def is_ready(self) -> bool:
        return bool(self.event.query())

    def take(self) -> None:
        self.record(f"{_checksum([self.memory]):016x}")


class Checksums(StateCheck):
    """Record checksums at the steps that are due."""

    name = "replica checksums"
    observes = (ObservationKind.REPLICA_CHECKSUM,)
    order = 50

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._replicas = Replicas(context.session, context.modules, context.names)
        context.modules.deferred.policy.inspect_at(self.is_due)
        self._last_step = -1
        self._interval = CheckInterval(context.session)
        self._seconds = 0.0  # cost of the last checksums, in both threads

    def is_due(self, step: int) -> bool:
        """Return whether checksums are recorded at a step."""
        return self._replicas.are_compared and self._interval.is_due(step)

    def before_update(self, _optimizer: Optimizer, _number: int) -> None:
        """Record checksums before the first optimizer of a step updates."""
        step = self._session.steps.number
        if step == self._last_step or not self.is_due(step):
            return
        self._last_step = step
        self._interval.adapt(step, self._seconds)
        if not self.is_due(step):
            return
        self._seconds = 0.0
        began = thread_cpu_seconds()
        for model in self._replicas.find():
            self._take(model, (Mode.TRAIN.value, step))
        self._seconds += thread_cpu_seconds() - began

    def _take(self, model: Replica, at: StepId) -> None:
        parameters = model.parameters

        def record(checksum: str) -> None:
            kind, is_wrapped = ObservationKind.REPLICA_CHECKSUM, model.is_wrapped
            detail = ReplicaChecksum(checksum, is_wrapped)
            self._observe(kind, model.subject, float(is_wrapped), detail, at)

        if all(parameter.device.type == "cpu" for parameter in parameters):
            if sum(parameter.nbytes for parameter in parameters) <= _INLINE_BYTES:
                with torch.no_grad():
                    record(f"{_checksum(parameters):08x}")
                return
            named = {str(index): parameter for index, parameter in enumerate(parameters)}
            copied = list(copies(named).values())

            def sum_up() -> None:
                began = thread_cpu_seconds()
                record(f"{_checksum(copied):08x}")
                self._seconds += thread_cpu_seconds() - began

            self._session.worker_thread.submit(self.name, sum_up)
        elif len({parameter.device for parameter in parameters}) == 1 and parameters[0].is_cuda:
            self._session.worker_thread.expect(self.name, _launch_sums(parameters, record))


def _checksum(tensors: Sequence[Tensor]) -> int:
    checksum = 0
    for tensor in tensors:
        dense = tensor.contiguous()
        address = dense.data_ptr()
        if not address:  # it is empty, or its memory was freed
            continue
        content = (ctypes.c_char * dense.nbytes).from_address(address)
        checksum = zlib.crc32(content, checksum)
    return checksum


def _launch_sums(parameters: Sequence[Tensor], record: Callable[[str], None]) -> _PendingSums:
    """Sum integers: the result does not depend on the order, and overflow wraps around."""
    with torch.no_grad():
        sums = torch.stack(
            [_pattern(parameter.detach()).sum(dtype=torch.int64) for parameter in parameters]
        )
        memory = torch.empty(sums.shape, dtype=sums.dtype, device="cpu", pin_memory=True)
        memory.copy_(sums, non_blocking=True)
    event = _new_event()
    event.record(torch.cuda.current_stream(sums.device))
    return _PendingSums(memory, event, record)


def _pattern(tensor: Tensor) -> Tensor:
    real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return real.view(_PATTERNS[real.itemsize])
