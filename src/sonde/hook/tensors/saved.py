"""Record arrays that a script saves in a process without a supported framework."""

from typing import Any

from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.tensors.array_records import ArrayRecords
from sonde.hook.tensors.tensor_recorder import SavedTensor
from sonde.records.tensor import TensorKind
from sonde.store import arrays

_SAVED = (TensorKind.SAVED,)


class SavedArrays:
    """Records arrays of any library that NumPy or the buffer protocol can read."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._records = ArrayRecords(session)

    def scalar(self, _name: str, _value: Any, _source: str, _at: StepId) -> bool:
        """Always return False: without a framework, no value is a tensor of it."""
        return False

    def save(self, tensor: SavedTensor, value: Any) -> bool:
        """Copy and record an array; return False if the value is not an array of numbers."""
        try:
            raw = arrays.raw_of(value)
        except (TypeError, ValueError, OverflowError):
            return False
        self._records.add(tensor, raw, _SAVED)
        return True

    def write_held(self) -> None:
        """Write the values that wait for the end of their step."""
        self._records.write_held()
