"""Who takes tensors that a script, or another adapter, hands over."""

from typing import Any, Protocol

from sonde.hook.steps import At


class Tensors(Protocol):
    """What a framework does with its tensors when a script or another adapter hands one over."""

    def scalar(self, name: str, value: Any, source: str, at: At) -> bool:
        """Records a single number; whether the value was one of the framework's own."""

    def save(self, name: str, value: Any, at: At) -> bool:
        """Records a whole tensor; whether the framework could read it."""
