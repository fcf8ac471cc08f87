"""Interface for recording tensors that a script or an adapter passes in."""

from typing import Any, Protocol

from sonde.hook.steps import StepId


class TensorRecorder(Protocol):
    """Records numbers and tensors of a framework."""

    def scalar(self, name: str, value: Any, source: str, at: StepId) -> bool:
        """Record a number; return whether the value is a tensor of the framework."""

    def save(self, name: str, value: Any, at: StepId) -> bool:
        """Record a tensor; return whether the framework can read it."""
