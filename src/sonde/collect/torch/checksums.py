"""Checksums of whole models, so that readers can tell whether all workers hold the same one.

Nothing is sent between workers: each records its own checksum at the same steps.
"""

import ctypes
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sonde.clock import thread_cpu_seconds
from sonde.collect.session import At, Session
from sonde.collect.torch.check_interval import CheckInterval
from sonde.collect.torch.modules import Modules
from sonde.collect.torch.names import Names, unwrapped
from sonde.collect.torch.snapshots import copies
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_FEW_BYTES = 2**16  # of a model that is summed up at once: to copy it would cost as much
_PATTERNS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

_new_event: Callable[[], Any] = torch.cuda.Event


@dataclass(slots=True)
class _Sums:
    """Sums of bit patterns on their way from a device."""

    memory: Tensor
    event: Any
    tell: Callable[[str], None]

    def is_ready(self) -> bool:
        return bool(self.event.query())

    def take(self) -> None:
        self.tell(f"{_checksum([self.memory]):016x}")


class _Model(NamedTuple):
    """One that every worker holds."""

    subject: str
    is_replicated: float
    parameters: list[Tensor]


class Checksums:
    """Takes the checksums at the steps that are due."""

    def __init__(self, session: Session, modules: Modules, names: Names) -> None:
        self._session = session
        self._modules = modules
        self._names = names
        self._last_step = -1
        self._interval = CheckInterval(session)
        self._seconds = 0.0  # what the last ones took, here and in the backroom

    def is_due(self, step: int) -> bool:
        """Whether checksums are taken at a step."""
        return self._has_others() and self._interval.is_due(step)

    def before_update(self, _optimizer: Optimizer, _number: int) -> None:
        """Nothing was updated yet, unless by another optimizer of the same step."""
        step = self._session.steps.number
        if step == self._last_step or not self.is_due(step):
            return
        self._last_step = step
        self._interval.adapt(step, self._seconds)
        if not self.is_due(step):
            return
        self._seconds = 0.0
        began = thread_cpu_seconds()
        for model in self._models():
            self._take(model, (Mode.TRAIN.value, step))
        self._seconds += thread_cpu_seconds() - began

    def _has_others(self) -> bool:
        return self._session.place.world_size > 1

    def _models(self) -> list[_Model]:
        found = []
        for root in self._modules.roots:
            parameters: list[Tensor] = list(root.parameters())
            if any(id(one) in self._modules.owned for one in parameters) and _is_whole(root):
                subject = self._names.prefix_of(root) or type(unwrapped(root)).__name__
                is_replicated = float("DistributedDataParallel" in _kinds(root))
                found.append(_Model(subject, is_replicated, parameters))
        return found

    def _take(self, model: _Model, at: At) -> None:
        parameters = model.parameters

        def tell(checksum: str) -> None:
            kind = ObservationKind.REPLICA_CHECKSUM
            self._session.observe(kind, model.subject, model.is_replicated, checksum, at)

        if all(one.device.type == "cpu" for one in parameters):
            if sum(one.nbytes for one in parameters) <= _FEW_BYTES:
                with torch.no_grad():
                    tell(f"{_checksum(parameters):08x}")
                return
            named = {str(place): one for place, one in enumerate(parameters)}
            copied = list(copies(named).values())

            def sum_up() -> None:
                began = thread_cpu_seconds()
                tell(f"{_checksum(copied):08x}")
                self._seconds += thread_cpu_seconds() - began

            self._session.backroom.hand("checksums of replicas", sum_up)
        elif len({one.device for one in parameters}) == 1 and parameters[0].is_cuda:
            self._session.backroom.expect("checksums of replicas", _sums(parameters, tell))


def _kinds(root: nn.Module) -> set[str]:
    return {kind.__name__ for module in root.modules() for kind in type(module).__mro__}


def _is_whole(root: nn.Module) -> bool:
    """Whether each worker holds all of the model: not where it is sharded."""
    is_sharded = any(hasattr(one, "to_local") or hasattr(one, "ds_id") for one in root.parameters())
    return not is_sharded and "FullyShardedDataParallel" not in _kinds(root)


def _checksum(tensors: Sequence[Tensor]) -> int:
    checksum = 0
    for tensor in tensors:
        if not tensor.nbytes:
            continue
        dense = tensor.contiguous()
        content = (ctypes.c_char * dense.nbytes).from_address(dense.data_ptr())
        checksum = zlib.crc32(content, checksum)
    return checksum


def _sums(parameters: Sequence[Tensor], tell: Callable[[str], None]) -> _Sums:
    """Whole numbers add up to the same in any order, and wrap around where they are too large."""
    with torch.no_grad():
        sums = torch.stack([_pattern(one.detach()).sum(dtype=torch.int64) for one in parameters])
        memory = torch.empty(sums.shape, dtype=sums.dtype, device="cpu", pin_memory=True)
        memory.copy_(sums, non_blocking=True)
    event = _new_event()
    event.record(torch.cuda.current_stream(sums.device))
    return _Sums(memory, event, tell)


def _pattern(tensor: Tensor) -> Tensor:
    real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return real.view(_PATTERNS[real.itemsize])
