"""Tensors of forward passes: found in inputs and outputs, named and recorded if due."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._C import _functorch

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.inspections import Inspections
from sonde.hook.session import Session
from sonde.hook.steps import Pass, StepId
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.tensors.due_tensors import DueTensors, Kinds, first_samples
from sonde.hook.torch.tensors.shards import is_distributed, local
from sonde.hook.torch.tensors.unit_activity import TASK, record_unit_activity
from sonde.records.notice import NoticeKind
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode
from sonde.records.tensor import TensorKind

MAX_CALLS = 16  # of one module in one step
_MAX_LEAVES = 64
_MAX_DEPTH = 4
_MAX_HELD_BYTES = 1024**3
_UNNUMBERED = ("labels", "predictions")  # usually there is one per step

Leaf = tuple[str, Tensor]  # suffix of the name, and the tensor


def is_plain(value: Tensor) -> bool:
    """Return whether a tensor has values, so it is not traced, vmapped or on the meta device."""
    kind = type(value)
    if kind is not Tensor and kind is not nn.Parameter and not is_distributed(value):
        return False
    return not _functorch.is_functorch_wrapped_tensor(value) and not value.is_meta


def leaves_of(value: Any, suffix: str = "", depth: int = _MAX_DEPTH) -> Iterator[Leaf]:
    """Yield all tensors in nested dictionaries, tuples and dataclasses, with their paths."""
    if isinstance(value, Tensor):
        if is_plain(value):
            yield suffix, value
    elif depth:
        for name, inside in _items_of(value):
            yield from leaves_of(inside, f"{suffix}.{name}", depth - 1)


def leaves_of_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Leaf]:
    """Yield all tensors of a call; a single positional argument has no index."""
    yield from leaves_of(args[0] if len(args) == 1 else args)
    yield from leaves_of(kwargs)


def _items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return zip(value._fields, value, strict=True)
    if isinstance(value, list | tuple):
        return enumerate(value[:_MAX_LEAVES])
    if is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name, None)) for field in fields(value)]
    return ()


class ForwardTensors:
    """Record due tensors; calls of a module are numbered within the step."""

    def __init__(self, session: Session, due_tensors: DueTensors, inspections: Inspections) -> None:
        self._session = session
        self._inspections = inspections
        self._record_unit_activity = session.guard.shield(TASK, record_unit_activity, None)
        self._due_tensors = due_tensors
        self._counts: dict[str, tuple[int, dict[str, int]]] = {}  # by mode: the step's counts
        self._held_bytes = 0

    def is_due(self, forward: ForwardPass) -> bool:
        """Return whether anything may be due in a pass."""
        return self._is_inspected(forward) or self._is_due_exactly(forward)

    def _is_inspected(self, forward: ForwardPass) -> bool:
        return forward.kind is Pass.TRAIN and self._inspections.is_due_in(forward)

    def _is_due_exactly(self, forward: ForwardPass) -> bool:
        due_exactly = self._session.plan.due_exactly
        if forward.at is not None:
            return bool(due_exactly(Mode(forward.at[0]), forward.at[1]))
        return any(due_exactly(Mode(mode), number) for mode, number in forward.likely)

    def offer(self, forward: ForwardPass, stem: str, kinds: Kinds, tensors: Iterable[Leaf]) -> None:
        """Record the tensors of one call; copies wait until the step of the pass is known."""
        began_ns = thread_cpu_ns()
        leaves = list(tensors)[:_MAX_LEAVES]
        is_inspection = self._is_inspected(forward)
        if leaves:
            self._take(forward, stem, kinds, leaves, is_inspection)
        if is_inspection:
            self._inspections.charge((thread_cpu_ns() - began_ns) / NANOSECONDS)

    def _take(
        self, forward: ForwardPass, stem: str, kinds: Kinds, leaves: list[Leaf], is_inspection: bool
    ) -> None:
        if forward.at is not None:
            self._record(forward.at, stem, kinds, leaves, is_inspection)
            return
        if not self._is_due_exactly(forward):
            leaves = [(suffix, first_samples(tensor)) for suffix, tensor in leaves]
        size = sum(tensor.nbytes for _, tensor in leaves)
        if self._held_bytes + size > _MAX_HELD_BYTES:
            self._session.store.notice(
                NoticeKind.NOT_COLLECTED,
                f"{stem} at some steps",
                "too much memory is held until the step of the pass is known",
            )
            return
        with torch.no_grad():
            leaves = [(suffix, local(tensor).detach().clone()) for suffix, tensor in leaves]
        self._held_bytes += size

        def settled(at: StepId) -> None:
            self._held_bytes -= size
            if at[1] >= 0:
                self._record(at, stem, kinds, leaves, is_inspection)

        forward.when_settled(settled)

    def _record(
        self, at: StepId, stem: str, kinds: Kinds, leaves: list[Leaf], is_inspection: bool
    ) -> None:
        number = self._number(at, stem)
        if number >= MAX_CALLS:
            if not is_inspection:
                self._session.store.notice(
                    NoticeKind.NOT_COLLECTED,
                    f"{stem}_{MAX_CALLS} and later calls",
                    f"only the first {MAX_CALLS} calls per step are recorded",
                )
            return
        needs = self._session.plan.needs
        call_name = stem if stem in _UNNUMBERED and not number else f"{stem}_{number}"
        for suffix, tensor in leaves:
            name = f"{call_name}{suffix}"
            if (
                is_inspection
                and TensorKind.RELU_OUTPUT in kinds
                and needs(ObservationKind.UNIT_ACTIVITY)
            ):
                self._record_unit_activity(self._session, name, tensor, at)
            self._due_tensors.offer(name, kinds, tensor, at, is_inspection)

    def _number(self, at: StepId, stem: str) -> int:
        """Return the index of this call within the step."""
        mode, step = at
        counts = self._counts.get(mode)
        if counts is None or counts[0] != step:
            counts = self._counts[mode] = (step, {})
        number = counts[1].get(stem, 0)
        counts[1][stem] = number + 1
        return number
