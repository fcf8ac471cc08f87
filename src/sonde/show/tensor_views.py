"""What show asks of a job's tensors: names, a number over steps, histograms, full values."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy.typing as npt

from sonde.read.tensors import Holders
from sonde.read.workers import Numbers
from sonde.show.rows import Rows


class TensorsView(Rows, Protocol):
    """Names of tensors."""

    @property
    def holders(self) -> Mapping[str, Holders]:
        """What the workers that hold a tensor say of it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone."""

    def __len__(self) -> int: ...


class ReductionView(Rows, Protocol):
    """A number of a tensor, over steps."""

    def by_worker(self) -> Mapping[int | None, tuple[Numbers, npt.NDArray[Any]]]:
        """Steps and values per worker; None is the whole of all parts."""


class HistogramsView(Protocol):
    """Histograms of a tensor over steps."""

    @property
    def steps(self) -> Numbers:
        """When."""

    @property
    def edges(self) -> npt.NDArray[Any]:
        """Of the bins, the same at every step."""

    @property
    def counts(self) -> Numbers:
        """As (step, bin)."""

    @property
    def zeros(self) -> Numbers:
        """Values that are nought, which are in no bin."""


class TensorView(Protocol):
    """One tensor."""

    def steps(self, mode: str = "train") -> list[int]:
        """When anything of it was recorded."""

    def reduction(
        self, name: str, *, mode: str = "train", worker: int | None = None
    ) -> ReductionView:
        """A number that sums it up, over steps."""

    def histograms(self, *, mode: str = "train", worker: int | None = None) -> HistogramsView:
        """How its values were distributed, over steps."""

    def value_steps(self, *, mode: str = "train", worker: int | None = None) -> list[int]:
        """When its full values were kept."""

    def value(
        self, step: int, *, mode: str = "train", worker: int | None = None
    ) -> npt.NDArray[Any]:
        """The full tensor."""
