"""Turns pieces of a trace into columns of numbers; every text is kept once."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.records.profile import DEVICE_CATEGORIES
from sonde.store.trace_stream import arguments_of

Numbers = npt.NDArray[np.int64]

_PLACE = attrgetter("pid", "tid")
_BEGIN, _END = "B", "E"
_NAMES = "M"
_UNDERSTOOD = (_NAMES, _BEGIN, _END)
_SPAN = "Trace"  # how long the profiler itself was on: of no thread, and around everything
_NANOSECONDS_PER_MICROSECOND = 1000
_MOST_DETAILS = 200_000
_NEVER = 4e15  # microseconds, in the year 2096: numbers that are broken must not overflow

# Raw numbers of a piece that become columns: where they come from, and what they are.
_COLUMNS = (
    ("correlation", attrgetter("correlation"), np.int64),
    ("sequence", attrgetter("sequence"), np.int64),
    ("forward_thread", attrgetter("forward_thread"), np.int32),
    ("device", attrgetter("device"), np.int32),
)
_FACTS = (
    ("size", "bytes"),
    ("bandwidth", "gigabytes_per_second"),
    ("occupancy", "occupancy_percent"),
    ("collective", "collective"),
    ("elements_in", "elements_in"),
    ("elements_out", "elements_out"),
    ("dtype", "dtype"),
    ("group_size", "group_size"),
    ("group", "group"),
    ("group_label", "group_label"),
    ("ranks", "ranks"),
)
_ALL_FACTS = attrgetter(*(name for name, _ in _FACTS))
_COLLECTIVE = attrgetter("collective")
_UNSAID = (-1, "")
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode


class Numbered(dict[Any, int]):
    """Values and the number of each, in order of appearance."""

    def __missing__(self, value: Hashable) -> int:
        self[value] = number = len(self)
        return number

    def of(self, values: Iterable[Any], count: int) -> npt.NDArray[np.int32]:
        """The number of each value."""
        return np.fromiter(map(self.__getitem__, values), np.int32, count)


class TraceColumns:
    """Everything that took time in a trace, column by column, and what its lanes are called."""

    def __init__(self) -> None:
        self.names = Numbered()
        self.categories = Numbered()  # as the trace calls them
        self.places = Numbered()  # process and thread
        self.details = Numbered()
        self.process_names: dict[int | str, str] = {}
        self.process_labels: dict[int | str, str] = {}
        self.thread_names: dict[tuple[int | str, int | str], str] = {}
        self.others: Counter[str] = Counter()  # events that are no operations, by their kind
        self._parts: dict[str, list[npt.NDArray[Any]]] = {}
        self._open: dict[tuple[int | str, int | str], list[Any]] = {}

    def add(self, events: Sequence[Any], listed: bytes) -> None:
        """Takes the events of one piece, and the JSON array they were read from."""
        whole = [one for one in events if one.ph == "X" and one.cat != _SPAN]
        if whole:
            durations = np.fromiter(map(attrgetter("dur"), whole), np.float64, len(whole))
            known = self._add_rows(whole, nanoseconds(durations))
            self._keep_foreign(known, whole, events, listed)
        if len(whole) < len(events):
            self._take_others([one for one in events if one.ph != "X"])

    def column(self, name: str) -> npt.NDArray[Any]:
        """One column, whole; its parts are let go."""
        parts = self._parts.pop(name, [])
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _add_rows(self, rows: Sequence[Any], durations: Numbers) -> dict[str, npt.NDArray[Any]]:
        count = len(rows)
        said = [one.args for one in rows]
        starts = np.fromiter(map(attrgetter("ts"), rows), np.float64, count)
        found: dict[str, npt.NDArray[Any]] = {
            "name": self.names.of(map(attrgetter("name"), rows), count),
            "category": self.categories.of(map(attrgetter("cat"), rows), count),
            "place": self.places.of(map(_PLACE, rows), count),
            "start": nanoseconds(starts),
            "duration": np.maximum(durations, 0),
        }
        for name, get, dtype in _COLUMNS:
            found[name] = np.fromiter(map(get, said), dtype, count)
        found["detail"] = self._details(said, found)
        for name, values in found.items():
            self._parts.setdefault(name, []).append(values)
        return found

    def _take_others(self, events: Sequence[Any]) -> None:
        kinds = Counter(map(attrgetter("ph"), events))
        self.others.update({kind: kinds[kind] for kind in kinds if kind not in _UNDERSTOOD})
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
            self._add_rows(begun, durations)

    def _take_names(self, events: Sequence[Any]) -> None:
        for one in events:
            if one.name == "process_name":
                self.process_names[one.pid] = one.args.name
            elif one.name == "process_labels":
                self.process_labels[one.pid] = one.args.labels
            elif one.name == "thread_name":
                self.thread_names[one.pid, one.tid] = one.args.name

    def _details(
        self, said: Sequence[Any], found: Mapping[str, npt.NDArray[Any]]
    ) -> npt.NDArray[np.int32]:
        """What is said about most events are shapes, or nothing; the rest is looked at closer."""
        numbers = self.details.of(map(bytes, map(attrgetter("shapes"), said)), len(said))
        is_rich = np.array([name.lower() in _ON_DEVICE for name in self.categories])
        is_looked_at = is_rich[found["category"]] | (found["forward_thread"] > 0)
        if any(map(_COLLECTIVE, said)):
            is_looked_at |= np.fromiter(map(bool, map(_COLLECTIVE, said)), np.bool_, len(said))
        for row in np.flatnonzero(is_looked_at).tolist():
            numbers[row] = self.details[_said_about(said[row])]
        return numbers

    def _keep_foreign(
        self,
        found: dict[str, npt.NDArray[Any]],
        rows: Sequence[Any],
        events: Sequence[Any],
        listed: bytes,
    ) -> None:
        """Keeps all that is said about events of other makers, as far as memory allows."""
        is_foreign = np.array([name.lower() not in OWN_CATEGORIES for name in self.categories])
        foreign = np.flatnonzero(is_foreign[found["category"]])
        if not len(foreign) or len(self.details) > _MOST_DETAILS:
            return
        texts = dict(zip(map(id, events), arguments_of(listed), strict=True))
        said = (texts[id(rows[row])] for row in foreign.tolist())
        found["detail"][foreign] = self.details.of(said, len(foreign))


# What Kineto writes; of everything else all that is said is kept as it is.
OWN_CATEGORIES = {
    "cpu_op": "operator",
    "operator": "operator",
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "memcpy": "copy",
    "gpu_memset": "set",
    "memset": "set",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "hip_runtime": "runtime",
    "xpu_runtime": "runtime",
    "runtime": "runtime",
    "user_annotation": "annotation",
    "gpu_user_annotation": "annotation",
    "python_function": "python",
    "overhead": "overhead",
}
_ON_DEVICE = {name for name, ours in OWN_CATEGORIES.items() if ours in DEVICE_CATEGORIES}


def nanoseconds(microseconds: npt.NDArray[np.float64]) -> Numbers:
    """Exact to the last digit that the numbers have."""
    microseconds = np.clip(microseconds, -_NEVER, _NEVER)
    whole = np.floor(microseconds)
    rest = np.rint((microseconds - whole) * _NANOSECONDS_PER_MICROSECOND)
    return whole.astype(np.int64) * _NANOSECONDS_PER_MICROSECOND + rest.astype(np.int64)


def _said_about(said: Any) -> Hashable:
    """What tells the details of such an event apart."""
    facts = _ALL_FACTS(said) if said.grid or said.size >= 0 or said.collective else ()
    raw = (bytes(said.shapes), bytes(said.grid), bytes(said.block))
    return (*raw, said.forward_thread > 0, facts)


def detail_text(key: Any) -> str:
    """The details of an event as compact JSON."""
    if isinstance(key, str):
        return _COMPACT(json.loads(key)) if key else ""
    plain = (key, b"", b"", False, ())
    shapes, grid, block, is_backward, facts = plain if isinstance(key, bytes) else key
    found = [
        f'"{name}":{b"".join(raw.split()).decode()}'  # numbers and brackets only
        for name, raw in (("shapes", shapes), ("grid", grid), ("block", block))
        if raw
    ]
    if is_backward:
        found.append('"pass":"backward"')
    for (_, name), value in zip(_FACTS, facts, strict=False):
        if value not in _UNSAID:
            is_whole = isinstance(value, float) and value.is_integer()
            found.append(f'"{name}":{_COMPACT(int(value) if is_whole else value)}')
    return f"{{{','.join(found)}}}" if found else ""
