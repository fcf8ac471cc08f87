"""Interface for recording tensors that a script or an adapter passes in."""

from dataclasses import dataclass
from typing import Any, Protocol

from sonde.hook.steps import StepId
from sonde.hook.tensors.collections import TensorRequest


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A tensor that a script saves."""

    name: str
    collections: tuple[str, ...]  # that the script lists it in
    at: StepId
    request: TensorRequest


class TensorRecorder(Protocol):
    """Records numbers and tensors of a framework."""

    def scalar(self, name: str, value: Any, source: str, at: StepId) -> bool:
        """Record a number; return whether the value is a tensor of the framework."""

    def save(self, tensor: SavedTensor, value: Any) -> bool:
        """Record a tensor; return whether the framework can read it."""

    def write_held(self) -> None:
        """Write the values that wait for the end of their step."""
