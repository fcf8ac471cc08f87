"""What a rule needs to have been recorded.

Whoever turns on a rule turns on the recording of what it needs; a job that has none of it makes the
rule not applicable.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass


class Need(ABC):
    """Something that has to be recorded."""

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """What people call it."""

    @property
    def missing(self) -> str:
        """What to say of a job that has none of it."""
        return f"no {self.label} recorded"

    @property
    def looked_at(self) -> str | None:
        """What the hook has to look at for it, by name; None where that is recorded anyway."""
        return None


@dataclass(frozen=True, slots=True)
class Metric(Need):
    """Samples of a metric of the machine, such as `gpu.utilization_percent`."""

    name: str

    @property
    def label(self) -> str:
        """What people call it."""
        return f"samples of {self.name}"


@dataclass(frozen=True, slots=True)
class Steps(Need):
    """Steps of a mode, and where their time went."""

    mode: str = "train"

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.mode} steps"


@dataclass(frozen=True, slots=True)
class Losses(Need):
    """The loss."""

    @property
    def label(self) -> str:
        """What people call it."""
        return "loss"


@dataclass(frozen=True, slots=True)
class Scalars(Need):
    """Scalars whose names fit a pattern, such as `learning_rate/*`."""

    name: str

    @property
    def label(self) -> str:
        """What people call it."""
        return f"scalars {self.name}"


@dataclass(frozen=True, slots=True)
class Statistics(Need):
    """Statistics of the tensors of a collection, such as `gradients`."""

    collection: str

    @property
    def label(self) -> str:
        """What people call it."""
        return f"statistics of {self.collection}"

    @property
    def looked_at(self) -> str | None:
        """The collection."""
        return self.collection


@dataclass(frozen=True, slots=True)
class Observations(Need):
    """What the hook finds by itself, such as `unowned-parameter`."""

    kind: str

    @property
    def label(self) -> str:
        """What people call it."""
        return f"observations {self.kind}"

    @property
    def looked_at(self) -> str | None:
        """The kind, which may be a pattern."""
        return self.kind


@dataclass(frozen=True, slots=True)
class Operations(Need):
    """What a profiler saw, call by call: `kernel`, `operator`, `loading`, …."""

    category: str

    @property
    def label(self) -> str:
        """What people call it."""
        return f"operations of the kind {self.category}"
