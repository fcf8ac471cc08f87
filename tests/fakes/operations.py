"""Build profiles from single operations."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sonde.analyze.operations import Operations, Phases, Profile, TextColumn
from sonde.records.profile import NO_CORRELATION


@dataclass
class FakeProfile:
    """A profile window: rows in any order, times in nanoseconds, ends exclusive."""

    worker: int = 0
    _rows: list[tuple[str, str, str, str, str, int, int, int]] = field(default_factory=list)
    _phases: list[tuple[str, int, int]] = field(default_factory=list)

    def host(
        self,
        name: str,
        start: int,
        end: int,
        category: str = "operator",
        lane: str = "thread 1",
        module: str = "",
    ) -> "FakeProfile":
        """Add an operation of a thread."""
        row = (name, category, lane, "cpu", module, start, end - start, NO_CORRELATION)
        self._rows.append(row)
        return self

    def call(
        self, name: str, start: int, end: int, number: int = NO_CORRELATION, lane: str = "thread 1"
    ) -> "FakeProfile":
        """Add a call of the CUDA driver."""
        self._rows.append((name, "runtime", lane, "cpu", "", start, end - start, number))
        return self

    def device(
        self,
        name: str,
        start: int,
        end: int,
        number: int = NO_CORRELATION,
        category: str = "kernel",
        lane: str = "stream 7",
    ) -> "FakeProfile":
        """Add an operation of a GPU."""
        self._rows.append((name, category, lane, "cuda:0", "", start, end - start, number))
        return self

    def phase(self, name: str, start: int, end: int) -> "FakeProfile":
        """Add a phase of the training thread."""
        self._phases.append((name, start, end))
        return self

    def build(self) -> Profile:
        """Return the profile as the analysis expects it."""
        columns = list(zip(*self._rows, strict=True))
        names, categories, lanes, devices, modules = (texts(column) for column in columns[:5])
        starts, durations, correlations = (np.array(column, np.int64) for column in columns[5:])
        operations = Operations(
            names, categories, lanes, devices, modules, starts, durations, correlations
        )
        phases = Phases(
            tuple(name for name, _, _ in self._phases),
            np.array([start for _, start, _ in self._phases], np.int64),
            np.array([end for _, _, end in self._phases], np.int64),
        )
        return Profile(self.worker, operations, phases, steps=1)


def texts(values: Sequence[str]) -> TextColumn:
    """Return a column of texts."""
    distinct = {text: number for number, text in enumerate(dict.fromkeys(values))}
    return TextColumn(tuple(distinct), np.array([distinct[text] for text in values], np.int64))
