"""Losses, scalars and tensors of a job to export, as tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from sonde.results.scalars import Scalars
from sonde.results.tensors import Tensor, Tensors


class Content(StrEnum):
    """What a table contains."""

    METRICS = "metrics"  # of the machines
    LOSSES = "losses"
    SCALARS = "scalars"
    TENSORS = "tensors"  # their statistics


@dataclass(frozen=True)
class TrainingData:
    """The scalars and tensors to export."""

    scalars: Scalars
    tensors: Tensors
    content: Content | None = None  # None: everything

    @property
    def size(self) -> int:
        """The approximate number of values, for a progress bar."""
        scalars = 0 if self.content is Content.TENSORS else len(self.scalars)
        tensors = 0 if self.content in (Content.LOSSES, Content.SCALARS) else len(self.tensors)
        return scalars + tensors

    def tables(self) -> Iterator[pa.Table]:
        """Tables with the same columns: one row per value, or per tensor and step."""
        if self.content is not Content.TENSORS:
            yield self.scalars.to_arrow()
            return
        for name, holders in self.tensors.holders.items():
            table = Tensor(name, self.tensors.readers, holders).to_arrow()
            names = pa.array([name] * table.num_rows, pa.string())
            yield table.add_column(0, "name", names)
