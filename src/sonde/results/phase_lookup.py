"""Mode and phase of a worker's training thread at given instants."""

from dataclasses import dataclass

import numpy as np

from sonde.analyze.instants import OUTSIDE, interval_indices
from sonde.read.steps import MAIN_LANE
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.step import EventCategory, Phase
from sonde.store.format import EVENTS
from sonde.store.rollups import Instants
from sonde.store.tables import texts_of, to_numpy

OUTSIDE_STEPS = "others"  # outside of steps
_COLUMNS = ("name", "mode", "start_ns", "duration_ns")
_PHASES = {EventCategory.PHASE.value, EventCategory.USER.value}
_ORDER = [phase.value for phase in Phase]


@dataclass(frozen=True)
class Track:
    """Intervals of one kind, sorted by start."""

    names: tuple[str, ...]
    which: IntArray
    starts_ns: IntArray
    ends_ns: IntArray

    def at(self, times_ns: Instants, outside: str) -> list[str]:
        """The name of the interval that contains each instant."""
        indices = interval_indices(times_ns, self.starts_ns, self.ends_ns)
        labels = (*self.names, outside)
        numbers = np.full(len(indices), len(self.names))
        numbers[indices != OUTSIDE] = self.which[indices[indices != OUTSIDE]]
        return [labels[number] for number in numbers.tolist()]


def phase_track(reader: WorkerReader) -> Track:
    """The phases of a worker, of all modes."""
    return _track(reader, "name", _PHASES)


def mode_track(reader: WorkerReader) -> Track:
    """The steps of a worker, named after their modes."""
    return _track(reader, "mode", {EventCategory.STEP.value})


def _track(reader: WorkerReader, label: str, categories: set[str]) -> Track:
    only = {"category": categories, "lane": {MAIN_LANE}}
    rows = reader.folder(EVENTS).rows(columns=_COLUMNS, only=only)
    names, which = texts_of(rows[label])
    starts_ns = to_numpy(rows["start_ns"])
    ends_ns = starts_ns + to_numpy(rows["duration_ns"])
    order = np.lexsort(
        (-ends_ns, starts_ns)
    )  # inner intervals after outer ones with the same start
    return Track(tuple(names), which[order].astype(np.int64), starts_ns[order], ends_ns[order])


def in_order(phases: list[str]) -> list[str]:
    """Sort phases by their order in a step; names from the script come last."""
    positions = {name: index for index, name in enumerate(_ORDER)}
    return sorted(set(phases), key=lambda name: (positions.get(name, len(positions)), name))


def readable_name(name: str) -> str:
    """The name of a phase, stage or mode with spaces instead of underscores."""
    return name.replace("_", " ")
