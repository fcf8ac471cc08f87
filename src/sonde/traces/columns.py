"""Convert chunks of a trace into numeric columns; every text is stored once."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray
from sonde.traces.event_kinds import Kinds
from sonde.traces.stream import arguments_of

_COMPLETE = "X"
_BEGIN, _END = "B", "E"
_NAMES = "M"
_UNDERSTOOD = (_NAMES, _BEGIN, _END)
_SPAN = "Trace"  # the duration of the profiler itself, without a thread
_NANOSECONDS_PER_MICROSECOND = 1000
_MAX_DETAILS = 200_000
_NEVER = 4e15  # microseconds: the year 2096; invalid numbers must not overflow


class TraceColumns:
    """All events of a trace with a duration, as columns, and the names of its threads."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self.process_names: dict[int | str, str] = {}
        self.thread_names: dict[tuple[int | str, int | str], str] = {}
        self.other_events: Counter[str] = Counter()  # events without a duration, by kind
        self._parts: dict[str, list[npt.NDArray[Any]]] = {}
        self._open: dict[tuple[int | str, int | str], list[Any]] = {}

    def add(self, events: Sequence[Any], listed: bytes) -> None:
        """Add the events of one chunk and the JSON array they were read from."""
        complete = [event for event in events if event.ph == _COMPLETE and event.cat != _SPAN]
        if complete:
            durations = np.fromiter([event.dur for event in complete], np.float64, len(complete))
            columns = self._add_rows(complete, durations)
            self._keep_foreign(columns, complete, events, listed)
        if len(complete) < len(events):
            self._take_others([event for event in events if event.ph != _COMPLETE])

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return one column and release its chunks."""
        chunks = self._parts.pop(name, [])
        return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int64)

    def _add_rows(
        self, rows: Sequence[Any], durations: npt.NDArray[np.float64]
    ) -> dict[str, npt.NDArray[Any]]:
        count = len(rows)
        arguments = [each.args for each in rows]
        kinds = self.kinds.of(rows, arguments)
        columns: dict[str, npt.NDArray[Any]] = {
            "kind": kinds,
            "detail": self.kinds.details_of(kinds, arguments),
            "start": np.fromiter([each.ts for each in rows], np.float64, count),
            "duration": durations,
            "correlation": np.fromiter([each.correlation for each in arguments], np.int64, count),
            "sequence": np.fromiter([each.sequence for each in arguments], np.int64, count),
        }
        for name, values in columns.items():
            self._parts.setdefault(name, []).append(values)
        return columns

    def _take_others(self, events: Sequence[Any]) -> None:
        letters = [event.ph for event in events]
        kinds = dict.fromkeys(letters)
        for kind in kinds:
            if kind not in _UNDERSTOOD:
                self.other_events[kind] += letters.count(kind)
        if _NAMES in kinds:
            self._take_names([event for event in events if event.ph == _NAMES])
        if _BEGIN in kinds or _END in kinds:
            self._pair([event for event in events if event.ph in (_BEGIN, _END)])

    def _pair(self, edges: Sequence[Any]) -> None:
        """Combine begin and end events, which nest, into rows."""
        begins, ends = [], []
        for edge in edges:
            waiting = self._open.setdefault((edge.pid, edge.tid), [])
            if edge.ph == _BEGIN:
                waiting.append(edge)
            elif waiting:
                begins.append(waiting.pop())
                ends.append(edge.ts)
        if begins:
            starts = np.array([edge.ts for edge in begins])
            durations = nanoseconds(np.array(ends)) - nanoseconds(starts)
            self._add_rows(begins, durations / _NANOSECONDS_PER_MICROSECOND)

    def _take_names(self, events: Sequence[Any]) -> None:
        for event in events:
            if event.name == "process_name":
                self.process_names[event.pid] = event.args.name
            elif event.name == "thread_name":
                self.thread_names[event.pid, event.tid] = event.args.name

    def _keep_foreign(
        self,
        columns: dict[str, npt.NDArray[Any]],
        rows: Sequence[Any],
        events: Sequence[Any],
        listed: bytes,
    ) -> None:
        """Keep all arguments of events that Kineto did not write, up to a limit."""
        details = self.kinds.details
        if not self.kinds.has_foreign or len(details) > _MAX_DETAILS:
            return
        foreign = np.flatnonzero(self.kinds.column("is_foreign", columns["kind"]))
        texts = dict(zip(map(id, events), arguments_of(listed), strict=True))
        arguments = (texts[id(rows[row])] for row in foreign.tolist())
        columns["detail"][foreign] = details.of(arguments, len(foreign))


def nanoseconds(microseconds: npt.NDArray[np.float64]) -> IntArray:
    """Convert microseconds to nanoseconds without loss of precision."""
    rest = np.clip(microseconds, -_NEVER, _NEVER)
    whole_microseconds = np.floor(rest)
    # in place, to hold at most two copies
    rest -= whole_microseconds
    rest *= _NANOSECONDS_PER_MICROSECOND
    total_ns = whole_microseconds.astype(np.int64)
    total_ns *= _NANOSECONDS_PER_MICROSECOND
    del whole_microseconds
    total_ns += np.rint(rest, out=rest).astype(np.int64)
    return total_ns
