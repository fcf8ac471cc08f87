"""Fingerprints of models: a few bytes of their parameters at every step, cheap enough for all.

They tell workers that part at once. What they leave out, the checksums of whole models see later.
"""

import ctypes
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple
from zlib import crc32

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.session import Session
from sonde.hook.steps import At
from sonde.hook.torch.checks.replicas import Replica, Replicas
from sonde.hook.torch.loop.deferred_hooks import FINGERPRINTS, Note, Quiet
from sonde.hook.torch.tensors.forward_tensors import is_plain
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

PART = "fingerprints of replicas"

_MOST_MODELS = 4
_MOST_PARAMETERS = 4  # of a model
_BYTES = 2**11  # of a parameter, from its middle: the first rows may stand for padding


class _Part(NamedTuple):
    """What is read of a parameter, wherever its memory is by then."""

    parameter: "weakref.ref[Tensor]"
    size: int  # of all of it: where that has changed, something else has taken its place
    first: int
    bytes_at: Callable[[int], Any]


class _Chosen(NamedTuple):
    """What is read of a model; nothing of it is kept alive by that."""

    subject: str
    detail: str  # whether it is wrapped, and the places of the parameters
    parts: tuple[_Part, ...]


class Fingerprints:
    """Takes them in the host's memory, where there are several workers."""

    def __init__(self, session: Session, replicas: Replicas, quiet: Quiet) -> None:
        self._session = session
        self._replicas = replicas
        self._quiet = quiet
        self._last_step = -1
        self._chosen: list[_Chosen] = []
        self._version: tuple[int, int] | None = None  # of what there was to choose from
        nothing: list[tuple[_Chosen, int]] = []
        self._take_quietly = session.guard.shield(PART, self._take, nothing)
        quiet.readers[FINGERPRINTS] = self._read

    def before_update(self, _optimizer: Optimizer, _number: int) -> None:
        """Nothing was updated yet, unless by another optimizer of the same step."""
        if not self._replicas.are_compared:
            self._quiet.fingerprints = None
            return
        step = self._session.steps.number
        if step == self._last_step:
            return
        self._last_step = step
        if self._version != self._replicas.version:
            self._version = self._replicas.version
            self._chosen = self._choose()
        self._tell(self._take(), (Mode.TRAIN.value, step))
        self._quiet.fingerprints = self._take_quietly if self._chosen else None

    def _choose(self) -> list[_Chosen]:
        found = [self._chosen_of(model) for model in self._replicas.find()]
        return [one for one in found if one.parts][:_MOST_MODELS]

    def _chosen_of(self, model: Replica) -> _Chosen:
        known = enumerate(model.parameters)
        fit = [(place, one) for place, one in known if self._replicas.is_owned(one) and _fits(one)]
        if len(fit) > _MOST_PARAMETERS:
            last, count = len(fit) - 1, _MOST_PARAMETERS - 1
            fit = [fit[place * last // count] for place in range(_MOST_PARAMETERS)]
        places = " ".join(str(place) for place, _ in fit)
        detail = f"wrapped {places}" if model.is_wrapped else places
        return _Chosen(model.subject, detail, tuple(_part(one) for _, one in fit))

    def _take(self) -> list[tuple[_Chosen, int]]:
        """At every step: nothing is asked twice, and no function of ours is called on the way."""
        found = []
        for chosen in self._chosen:
            fingerprint = 0
            for reference, size, first, bytes_at in chosen.parts:
                one = reference()
                if one is None or not one.is_cpu or one.nbytes != size or not one.is_contiguous():
                    break
                address = one.data_ptr()
                if not address:
                    break
                fingerprint = crc32(bytes_at(address + first), fingerprint)
            else:
                found.append((chosen, fingerprint))
                continue
            self._version = None  # at the next step that is watched closely others are chosen
        return found

    def _read(self, note: Note) -> None:
        self._tell(note[3])

    def _tell(self, found: list[tuple[_Chosen, int]], at: At | None = None) -> None:
        for chosen, fingerprint in found:
            kind, value = ObservationKind.REPLICA_FINGERPRINT, float(fingerprint)
            self._session.recorder.observe(kind, chosen.subject, value, chosen.detail, at)


def _fits(parameter: Tensor) -> bool:
    """Whether its bytes are in the host's memory, one after the other."""
    is_dense = is_plain(parameter) and parameter.layout is torch.strided
    return is_dense and parameter.is_cpu and parameter.is_contiguous() and parameter.data_ptr() != 0


def _part(parameter: Tensor) -> _Part:
    size = parameter.nbytes
    length = min(size, _BYTES)
    bytes_at = (ctypes.c_char * length).from_address
    return _Part(weakref.ref(parameter), size, (size - length) // 2, bytes_at)
