"""Turns pieces of a trace into columns of numbers; every text is kept once."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.traces.event_kinds import Kinds
from sonde.traces.stream import arguments_of

Numbers = npt.NDArray[np.int64]

_WHOLE = "X"
_BEGIN, _END = "B", "E"
_NAMES = "M"
_UNDERSTOOD = (_NAMES, _BEGIN, _END)
_SPAN = "Trace"  # how long the profiler itself was on: of no thread, and around everything
_NANOSECONDS_PER_MICROSECOND = 1000
_MOST_DETAILS = 200_000
_NEVER = 4e15  # microseconds, in the year 2096: numbers that are broken must not overflow


class TraceColumns:
    """Everything that took time in a trace, column by column, and what its lanes are called."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self.process_names: dict[int | str, str] = {}
        self.thread_names: dict[tuple[int | str, int | str], str] = {}
        self.others: Counter[str] = Counter()  # events that are no operations, by their kind
        self._parts: dict[str, list[npt.NDArray[Any]]] = {}
        self._open: dict[tuple[int | str, int | str], list[Any]] = {}

    def add(self, events: Sequence[Any], listed: bytes) -> None:
        """Takes the events of one piece, and the JSON array they were read from."""
        whole = [one for one in events if one.ph == _WHOLE and one.cat != _SPAN]
        if whole:
            durations = np.fromiter([one.dur for one in whole], np.float64, len(whole))
            known = self._add_rows(whole, durations)
            self._keep_foreign(known, whole, events, listed)
        if len(whole) < len(events):
            self._take_others([one for one in events if one.ph != _WHOLE])

    def column(self, name: str) -> npt.NDArray[Any]:
        """One column, whole; its parts are let go."""
        parts = self._parts.pop(name, [])
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _add_rows(
        self, rows: Sequence[Any], durations: npt.NDArray[np.float64]
    ) -> dict[str, npt.NDArray[Any]]:
        count = len(rows)
        said = [one.args for one in rows]
        kinds = self.kinds.of(rows, said)
        found: dict[str, npt.NDArray[Any]] = {
            "kind": kinds,
            "detail": self.kinds.details_of(kinds, said),
            "start": np.fromiter([one.ts for one in rows], np.float64, count),
            "duration": durations,
            "correlation": np.fromiter([one.correlation for one in said], np.int64, count),
            "sequence": np.fromiter([one.sequence for one in said], np.int64, count),
        }
        for name, values in found.items():
            self._parts.setdefault(name, []).append(values)
        return found

    def _take_others(self, events: Sequence[Any]) -> None:
        letters = [one.ph for one in events]
        kinds = dict.fromkeys(letters)
        for kind in kinds:
            if kind not in _UNDERSTOOD:
                self.others[kind] += letters.count(kind)
        if _NAMES in kinds:
            self._take_names([one for one in events if one.ph == _NAMES])
        if _BEGIN in kinds or _END in kinds:
            self._pair([one for one in events if one.ph in (_BEGIN, _END)])

    def _pair(self, edges: Sequence[Any]) -> None:
        """Makes rows of beginnings and ends, which come apart and nest."""
        begun, ends = [], []
        for one in edges:
            waiting = self._open.setdefault((one.pid, one.tid), [])
            if one.ph == _BEGIN:
                waiting.append(one)
            elif waiting:
                begun.append(waiting.pop())
                ends.append(one.ts)
        if begun:
            starts = np.array([one.ts for one in begun])
            durations = nanoseconds(np.array(ends)) - nanoseconds(starts)
            self._add_rows(begun, durations / _NANOSECONDS_PER_MICROSECOND)

    def _take_names(self, events: Sequence[Any]) -> None:
        for one in events:
            if one.name == "process_name":
                self.process_names[one.pid] = one.args.name
            elif one.name == "thread_name":
                self.thread_names[one.pid, one.tid] = one.args.name

    def _keep_foreign(
        self,
        found: dict[str, npt.NDArray[Any]],
        rows: Sequence[Any],
        events: Sequence[Any],
        listed: bytes,
    ) -> None:
        """Keeps all that is said about events of other makers, as far as memory allows."""
        details = self.kinds.details
        if not self.kinds.has_foreign or len(details) > _MOST_DETAILS:
            return
        foreign = np.flatnonzero(self.kinds.column("is_foreign", found["kind"]))
        texts = dict(zip(map(id, events), arguments_of(listed), strict=True))
        said = (texts[id(rows[row])] for row in foreign.tolist())
        found["detail"][foreign] = details.of(said, len(foreign))


def nanoseconds(microseconds: npt.NDArray[np.float64]) -> Numbers:
    """Exact to the last digit that the numbers have."""
    rest = np.clip(microseconds, -_NEVER, _NEVER)
    whole = np.floor(rest)
    # in place: never more than two of them besides what was given
    rest -= whole
    rest *= _NANOSECONDS_PER_MICROSECOND
    found = whole.astype(np.int64)
    found *= _NANOSECONDS_PER_MICROSECOND
    del whole
    found += np.rint(rest, out=rest).astype(np.int64)
    return found
