"""Checksums of whole models, so that readers can tell whether all workers hold the same one.

Nothing is sent between workers: each records its own checksum at the same steps.
"""

import ctypes
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS, thread_cpu_seconds
from sonde.collect.session import At, Session
from sonde.collect.torch.modules import Modules
from sonde.collect.torch.names import Names, unwrapped
from sonde.collect.torch.snapshots import copies
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_SHARE = 0.25  # of the overhead budget
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


class Checksums:
    """Takes the checksums at the steps that are due."""

    def __init__(self, session: Session, modules: Modules, names: Names) -> None:
        self._session = session
        self._modules = modules
        self._names = names
        self._last_step = -1
        self._seconds = 0.0  # what the last one took, here and in the backroom
        self._training_seconds = 0.0  # until the last one
        self._stretch = 1

    def before_update(self, _optimizer: Optimizer, _number: int) -> None:
        """Nothing was updated yet, unless by another optimizer of the same step."""
        every = self._session.settings.replica_check_every * self._stretch
        step = self._session.steps.number
        if not every or step % every or step == self._last_step or not self._has_others():
            return
        self._last_step = step
        if self._has_room(every):
            self._take_all((Mode.TRAIN.value, step))

    def _has_others(self) -> bool:
        info = self._session.info
        return info is not None and info.world_size > 1

    def _has_room(self, every: int) -> bool:
        """Doubles the interval where checking is dear: so all workers have steps in common."""
        budget = self._session.budget
        trained = budget.training_seconds - self._training_seconds
        self._training_seconds = budget.training_seconds
        allowed = _SHARE * self._session.settings.overhead_percent / 100 * trained
        if not trained or self._seconds <= allowed:
            return True
        self._stretch *= 2
        return (self._last_step % (2 * every)) == 0

    def _take_all(self, at: At) -> None:
        began_ns = self._session.clock.now_ns()
        self._seconds = 0.0
        for root in self._modules.roots:
            parameters = list(root.parameters())
            if any(id(one) in self._modules.owned for one in parameters) and _is_whole(root):
                self._take(root, parameters, at)
        self._seconds += (self._session.clock.now_ns() - began_ns) / NANOSECONDS

    def _take(self, root: nn.Module, parameters: Sequence[Tensor], at: At) -> None:
        subject = self._names.prefix_of(root) or type(unwrapped(root)).__name__
        is_replicated = float("DistributedDataParallel" in _kinds(root))

        def tell(checksum: str) -> None:
            kind = ObservationKind.REPLICA_CHECKSUM
            self._session.observe(kind, subject, is_replicated, checksum, at)

        if all(one.device.type == "cpu" for one in parameters):
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
