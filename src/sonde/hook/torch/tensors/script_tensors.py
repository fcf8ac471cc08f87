"""Tensors and numbers that a script, or a framework, passes to Sonde."""

from typing import Any

import torch
from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.tensors.tensor_recorder import SavedTensor
from sonde.hook.torch.tensors.device_scalars import DeviceScalars
from sonde.hook.torch.tensors.tensor_records import StepTensors, TensorRecords
from sonde.records.tensor import TensorKind
from sonde.records.worker import TensorInfo

_SAVED = (TensorKind.SAVED,)


class ScriptTensors:
    """Record tensors and numbers of a script."""

    def __init__(self, session: Session, records: TensorRecords, scalars: DeviceScalars) -> None:
        self._session = session
        self._records = records
        self._scalars = scalars

    def scalar(self, name: str, value: Any, source: str, at: StepId) -> bool:
        """Record a single number without waiting for a device."""
        if not isinstance(value, Tensor) or value.numel() != 1 or value.is_complex():
            return False
        self._scalars.record_tensor(name, value, source, at)
        return True

    def save(self, tensor: SavedTensor, value: Any) -> bool:
        """Record a tensor, or anything that can be converted to one."""
        try:
            is_tensor = isinstance(value, Tensor)
            values = value if is_tensor else torch.as_tensor(value, device="cpu")
        except (RuntimeError, TypeError, ValueError):
            return False
        self._record(tensor, values)
        return True

    def write_held(self) -> None:
        """Write the values that wait for the end of their step."""
        self._records.write_held()

    def _record(self, saved: SavedTensor, tensor: Tensor) -> None:
        session, name, request = self._session, saved.name, saved.request
        tensors = StepTensors(saved.at, session.clock.now_ns())
        (tensors.with_histogram if request.histogram else tensors.plain)[name] = tensor
        if request.values:
            tensors.values[name] = tensor
        tensors.reductions += [(reduction, name) for reduction in request.reductions]
        self._records.keep(tensors, None)
        if not session.store.has_tensor(name):
            collections = (*session.plan.collections_of(name, _SAVED), *saved.collections)
            dtype = str(tensor.dtype).removeprefix("torch.")
            session.store.register_tensor(TensorInfo(name, collections, dtype, tuple(tensor.shape)))
