"""Fingerprints of models: a few bytes of their parameters at every step.

They reveal at once when workers diverge. Checksums of whole models cover the rest later.
"""

import ctypes
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple
from zlib import crc32

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.steps import StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.checks.measures.replicas import Replica, Replicas
from sonde.hook.torch.loop.deferred_hooks import FINGERPRINTS, Note
from sonde.hook.torch.tensors.forward_tensors import is_plain
from sonde.records.observation import ObservationKind
from sonde.records.observations.replicas import ReplicaFingerprint
from sonde.records.step import Mode

_MAX_MODELS = 4
_MAX_PARAMETERS = 4  # of a model
_BYTES = 2**11  # of a parameter, from its middle: the first rows may be padding


class _Segment(NamedTuple):
    """The bytes of a parameter that are read."""

    parameter: "weakref.ref[Tensor]"
    size: int  # of the whole parameter; if it changes, the parameter was replaced
    first: int
    bytes_at: Callable[[int], Any]


class _Selection(NamedTuple):
    """The parameters of a model that are read, as weak references."""

    subject: str
    detail: str  # an encoded `ReplicaFingerprint`
    segments: tuple[_Segment, ...]


class Fingerprints(StateCheck):
    """Record fingerprints of models in host memory, if there are several workers."""

    name = "replica fingerprints"
    observes = (ObservationKind.REPLICA_FINGERPRINT,)
    order = 40

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        session = context.session
        self._replicas = Replicas(session, context.modules, context.names)
        self._deferred = context.modules.deferred
        self._last_step = -1
        self._selections: list[_Selection] = []
        self._version: tuple[int, int] | None = None  # of the models and parameters to select from
        nothing: list[tuple[_Selection, int]] = []
        self._take_deferred = session.guard.shield(self.name, self._take, nothing)
        self._deferred.on_note(FINGERPRINTS, self._read)

    def before_update(self, _optimizer: Optimizer, _number: int) -> None:
        """Record fingerprints before the first optimizer of a step updates."""
        if not self._replicas.are_compared:
            self._deferred.update.set_fingerprints(None)
            return
        step = self._session.steps.number
        if step == self._last_step:
            return
        self._last_step = step
        if self._version != self._replicas.version:
            self._version = self._replicas.version
            self._selections = self._select_all()
        self._record(self._take(), (Mode.TRAIN.value, step))
        take = self._take_deferred if self._selections else None
        self._deferred.update.set_fingerprints(take)

    def _select_all(self) -> list[_Selection]:
        selections = [self._select(model) for model in self._replicas.find()]
        return [selection for selection in selections if selection.segments][:_MAX_MODELS]

    def _select(self, model: Replica) -> _Selection:
        numbered = enumerate(model.parameters)
        candidates = [
            (index, parameter)
            for index, parameter in numbered
            if self._replicas.is_owned(parameter) and _is_readable(parameter)
        ]
        if len(candidates) > _MAX_PARAMETERS:
            last, count = len(candidates) - 1, _MAX_PARAMETERS - 1
            candidates = [candidates[index * last // count] for index in range(_MAX_PARAMETERS)]
        indices = tuple(index for index, _ in candidates)
        segments = tuple(_segment_of(parameter) for _, parameter in candidates)
        detail = ReplicaFingerprint(indices, model.is_wrapped).encode()
        return _Selection(model.subject, detail, segments)

    def _take(self) -> list[tuple[_Selection, int]]:
        """Compute the fingerprints; runs at every step, so it calls as little as possible."""
        results = []
        for selection in self._selections:
            fingerprint = 0
            for reference, size, first, bytes_at in selection.segments:
                parameter = reference()
                if (
                    parameter is None
                    or not parameter.is_cpu
                    or parameter.nbytes != size
                    or not parameter.is_contiguous()
                ):
                    break
                address = parameter.data_ptr()
                if not address:
                    break
                fingerprint = crc32(bytes_at(address + first), fingerprint)
            else:
                results.append((selection, fingerprint))
                continue
            self._version = None  # select again at the next step whose hooks are not deferred
        return results

    def _read(self, note: Note) -> None:
        self._record(note[3])

    def _record(self, results: list[tuple[_Selection, int]], at: StepId | None = None) -> None:
        for selection, fingerprint in results:
            kind, value = ObservationKind.REPLICA_FINGERPRINT, float(fingerprint)
            self._session.recorder.observe(kind, selection.subject, value, selection.detail, at)


def _is_readable(parameter: Tensor) -> bool:
    """Return whether a parameter is contiguous in host memory."""
    is_dense = is_plain(parameter) and parameter.layout is torch.strided
    return is_dense and parameter.is_cpu and parameter.is_contiguous() and parameter.data_ptr() != 0


def _segment_of(parameter: Tensor) -> _Segment:
    size = parameter.nbytes
    length = min(size, _BYTES)
    bytes_at = (ctypes.c_char * length).from_address
    return _Segment(weakref.ref(parameter), size, (size - length) // 2, bytes_at)
