"""The events of a worker as columns of numbers, read once: what lanes and totals are made of."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.read.fresh_rows import FreshRows
from sonde.read.steps import MAIN_LANE
from sonde.read.stretches import own_time_ns
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.ranges import TimeRange
from sonde.records.step import EventCategory
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

STEP, PHASE, USER = (
    EventCategory.STEP.value,
    EventCategory.PHASE.value,
    EventCategory.USER.value,
)
_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "mode")
_KINDS = (STEP, PHASE, USER, EventCategory.WINDOW.value)


@dataclass(frozen=True, order=True, slots=True)
class Lane:
    """Events of one kind, name and mode."""

    category: str
    name: str
    mode: str


@dataclass(frozen=True)
class Stretches:
    """Some events: the number of its lane, from when to when, and of which step each is."""

    lanes: tuple[Lane, ...]
    numbers: npt.NDArray[np.int32]
    starts_ns: Numbers
    ends_ns: Numbers
    steps: Numbers

    def within(self, window: TimeRange) -> "Stretches":
        """Those that lie in a window or reach into it, as long as they are."""
        start_ns, end_ns = window.start_ns or 0, window.end_ns or 0
        return self.take(np.flatnonzero((self.starts_ns < end_ns) & (self.ends_ns > start_ns)))

    def clipped(self, window: TimeRange) -> "Stretches":
        """What of them lies in a window."""
        own = self.within(window)
        starts_ns = np.maximum(own.starts_ns, window.start_ns or 0)
        ends_ns = np.minimum(own.ends_ns, window.end_ns or 0)
        return replace(own, starts_ns=starts_ns, ends_ns=ends_ns)

    def of(self, *categories: str, mode: str | None = None) -> "Stretches":
        """Those of some kinds, and of one mode if it is named."""
        wanted = [one.category in categories and mode in (None, one.mode) for one in self.lanes]
        return self.take(np.flatnonzero(np.array([*wanted, False])[self.numbers]))

    def take(self, which: npt.NDArray[Any]) -> "Stretches":
        """Some of them."""
        return Stretches(
            self.lanes,
            self.numbers[which],
            self.starts_ns[which],
            self.ends_ns[which],
            self.steps[which],
        )

    def own_ns(self, window: TimeRange) -> Numbers:
        """How much of each lies in a window and is its own: not covered by one that began later."""
        return own_time_ns(self.starts_ns, self.ends_ns, window)


class StretchLog:
    """All events of one worker's training thread; grows with the worker."""

    def __init__(self, reader: WorkerReader) -> None:
        self._fresh = FreshRows(reader.folder(EVENTS), _COLUMNS)
        self._lanes: dict[Lane, int] = {}
        nothing = np.empty(0, dtype=np.int64)
        self._all = Stretches((), np.empty(0, dtype=np.int32), nothing, nothing, nothing)

    def read(self) -> Stretches:
        """Everything so far; of a step that was done in several lives all: each took its time."""
        parts = [self._stretches(table) for table in self._fresh.poll() if table.num_rows]
        if parts:
            every = [self._all, *parts]
            self._all = Stretches(
                tuple(self._lanes),
                np.concatenate([one.numbers for one in every]),
                np.concatenate([one.starts_ns for one in every]),
                np.concatenate([one.ends_ns for one in every]),
                np.concatenate([one.steps for one in every]),
            )
        return self._all

    def _stretches(self, rows: pa.Table) -> Stretches:
        texts = [texts_of(rows[name]) for name in ("category", "name", "mode", "lane")]
        combined = np.zeros(rows.num_rows, dtype=np.int64)
        for distinct, numbers in texts:
            combined = combined * max(1, len(distinct)) + numbers
        found, chosen = np.unique(combined, return_inverse=True)
        codes = np.array([self._number(texts, one) for one in found.tolist()], dtype=np.int32)
        numbers = codes[chosen]
        starts_ns = to_numpy(rows["start_ns"])
        ends_ns = starts_ns + to_numpy(rows["duration_ns"])
        whole = Stretches((), numbers, starts_ns, ends_ns, to_numpy(rows["step"]))
        return whole.take(np.flatnonzero(numbers >= 0))

    def _number(self, texts: list[tuple[list[str], Any]], combined: int) -> int:
        """The lane of a combination of texts; -1 where it is none of ours."""
        words: list[str] = []
        for distinct, _ in reversed(texts):
            combined, place = divmod(combined, max(1, len(distinct)))
            words.append(distinct[place])
        lane, mode, name, category = words
        if category not in _KINDS or lane not in (MAIN_LANE, ""):
            return -1
        return self._lanes.setdefault(Lane(category, name, mode), len(self._lanes))
