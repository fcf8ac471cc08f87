"""The events of one worker, read incrementally and sorted into lanes."""

from typing import Any

import numpy as np
import pyarrow as pa

from sonde.read.new_rows import NewRows
from sonde.read.steps import MAIN_LANE
from sonde.read.workers import WorkerReader
from sonde.records.step import EventCategory
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy
from sonde.web.intervals import PHASE, STEP, USER, Intervals, Lane, joined
from sonde.web.lane_index import LaneIndex

_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "mode")
_KINDS = (STEP, PHASE, USER, EventCategory.WINDOW.value)


class IntervalLog:
    """All events of one worker's training thread; grows while the worker runs."""

    def __init__(self, reader: WorkerReader) -> None:
        self._new_rows = NewRows(reader.folder(EVENTS), _COLUMNS)
        self._numbers: dict[Lane, int] = {}
        self._indices: dict[Lane, LaneIndex] = {}
        empty = np.empty(0, dtype=np.int64)
        self._all = Intervals((), np.empty(0, dtype=np.int32), empty, empty, empty)
        self._since: list[Intervals] = []  # not merged into _all yet

    def read(self) -> Intervals:
        """All events so far, including every attempt of a repeated step."""
        self._poll()
        if self._since:
            self._all = joined(tuple(self._numbers), [self._all, *self._since])
            self._since = []
        return self._all

    def indices(self) -> dict[Lane, LaneIndex]:
        """All events so far as one index per lane."""
        self._poll()
        return dict(self._indices)

    def _poll(self) -> None:
        for table in self._new_rows.poll():
            if not table.num_rows:
                continue
            batch = self._intervals(table)
            self._since.append(batch)
            for lane, number in self._numbers.items():
                indices = np.flatnonzero(batch.numbers == number)
                if len(indices):
                    self._indices.setdefault(lane, LaneIndex()).add(batch.take(indices))

    def _intervals(self, rows: pa.Table) -> Intervals:
        texts = [texts_of(rows[name]) for name in ("category", "name", "mode", "lane")]
        combined = np.zeros(rows.num_rows, dtype=np.int64)
        for distinct, numbers in texts:
            combined = combined * max(1, len(distinct)) + numbers
        distinct_codes, chosen = np.unique(combined, return_inverse=True)
        codes = np.array(
            [self._number(texts, code) for code in distinct_codes.tolist()], dtype=np.int32
        )
        numbers = codes[chosen]
        starts_ns = to_numpy(rows["start_ns"])
        ends_ns = starts_ns + to_numpy(rows["duration_ns"])
        intervals = Intervals((), numbers, starts_ns, ends_ns, to_numpy(rows["step"]))
        return intervals.take(np.flatnonzero(numbers >= 0))

    def _number(self, texts: list[tuple[list[str], Any]], combined: int) -> int:
        """The lane of a combination of texts; -1 if it is not shown."""
        labels: list[str] = []
        for distinct, _ in reversed(texts):
            combined, index = divmod(combined, max(1, len(distinct)))
            labels.append(distinct[index])
        lane, mode, name, category = labels
        if category not in _KINDS or lane not in (MAIN_LANE, ""):
            return -1
        return self._numbers.setdefault(Lane(category, name, mode), len(self._numbers))
