"""The data a rule needs.

Enabling a rule enables the recording of its needs. A rule is not applicable to a job that has none
of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass


class Need(ABC):
    """A kind of data that has to be recorded."""

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """A short description for messages."""

    @property
    def missing(self) -> str:
        """The message for a job without this data."""
        return f"no {self.label} recorded"

    @property
    def inspection_target(self) -> str | None:
        """The name of what the hook must inspect; None if it is always recorded."""
        return None


@dataclass(frozen=True, slots=True)
class Metric(Need):
    """Samples of a system metric, such as `gpu.utilization_percent`."""

    name: str

    @property
    def label(self) -> str:
        """A short description for messages."""
        return f"samples of {self.name}"


@dataclass(frozen=True, slots=True)
class Steps(Need):
    """Steps of a mode, with their phases."""

    mode: str = "train"

    @property
    def label(self) -> str:
        """A short description for messages."""
        return f"{self.mode} steps"


@dataclass(frozen=True, slots=True)
class Losses(Need):
    """The loss."""

    @property
    def label(self) -> str:
        """A short description for messages."""
        return "loss"


@dataclass(frozen=True, slots=True)
class Scalars(Need):
    """Scalars whose names match a pattern, such as `learning_rate/*`."""

    name: str

    @property
    def label(self) -> str:
        """A short description for messages."""
        return f"scalars {self.name}"


@dataclass(frozen=True, slots=True)
class Statistics(Need):
    """Statistics of the tensors of a collection, such as `gradients`."""

    collection: str

    @property
    def label(self) -> str:
        """A short description for messages."""
        return f"statistics of {self.collection}"

    @property
    def inspection_target(self) -> str | None:
        """The collection."""
        return self.collection


@dataclass(frozen=True, slots=True)
class Observations(Need):
    """Observations of the hook, such as `unowned-parameter`."""

    kind: str

    @property
    def label(self) -> str:
        """A short description for messages."""
        return f"observations {self.kind}"

    @property
    def inspection_target(self) -> str | None:
        """The kind, or a pattern of kinds."""
        return self.kind


@dataclass(frozen=True, slots=True)
class Operations(Need):
    """Profiled operations of a category, such as `kernel`, `operator` or `loading`."""

    category: str

    @property
    def label(self) -> str:
        """A short description for messages."""
        return f"{self.category} operations"
