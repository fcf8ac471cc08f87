"""The events of one worker as they come in: read once, each sorted into its lane."""

from typing import Any

import numpy as np
import pyarrow as pa

from sonde.read.new_rows import FreshRows
from sonde.read.steps import MAIN_LANE
from sonde.read.workers import WorkerReader
from sonde.records.step import EventCategory
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy
from sonde.web.intervals import PHASE, STEP, USER, Lane, Stretches, joined
from sonde.web.lane_index import LaneIndex

_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "mode")
_KINDS = (STEP, PHASE, USER, EventCategory.WINDOW.value)


class StretchLog:
    """All events of one worker's training thread; grows with the worker."""

    def __init__(self, reader: WorkerReader) -> None:
        self._fresh = FreshRows(reader.folder(EVENTS), _COLUMNS)
        self._numbers: dict[Lane, int] = {}
        self._indices: dict[Lane, LaneIndex] = {}
        nothing = np.empty(0, dtype=np.int64)
        self._all = Stretches((), np.empty(0, dtype=np.int32), nothing, nothing, nothing)
        self._since: list[Stretches] = []  # not among all of them yet

    def read(self) -> Stretches:
        """Everything so far; of a step that was done in several lives all: each took its time."""
        self._poll()
        if self._since:
            self._all = joined(tuple(self._numbers), [self._all, *self._since])
            self._since = []
        return self._all

    def indices(self) -> dict[Lane, LaneIndex]:
        """Everything so far by its lane, for pictures of any window."""
        self._poll()
        return dict(self._indices)

    def _poll(self) -> None:
        for table in self._fresh.poll():
            if not table.num_rows:
                continue
            part = self._stretches(table)
            self._since.append(part)
            for lane, number in self._numbers.items():
                mine = np.flatnonzero(part.numbers == number)
                if len(mine):
                    self._indices.setdefault(lane, LaneIndex()).add(part.take(mine))

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
        return self._numbers.setdefault(Lane(category, name, mode), len(self._numbers))
