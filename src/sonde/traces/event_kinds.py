"""Kinds of trace events: distinct combinations of name, thread, shapes and so on.

A trace of a million events has a few thousand kinds, such as an operator with certain shapes on a
certain thread. So events only need one lookup, and texts are processed once per kind.
"""

import json
from array import array
from collections.abc import Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.records.profile import DEVICE_CATEGORIES

# Kineto's categories; all arguments of events with other categories are kept.
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
_ON_DEVICE = {name for name, category in OWN_CATEGORIES.items() if category in DEVICE_CATEGORIES}
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
_OF_COLLECTIVES = attrgetter(*(name for name, _ in _FACTS[3:]))
_MISSING = (-1, "")
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode


class Numbered(dict[Any, int]):
    """Assigns a number to each distinct value, in order of appearance."""

    def __missing__(self, value: Hashable) -> int:
        self[value] = number = len(self)
        return number

    def of(self, values: Iterable[Any], count: int) -> npt.NDArray[np.int32]:
        """The numbers of values."""
        return np.fromiter(map(self.__getitem__, values), np.int32, count)


class Kinds(dict[Any, int]):
    """Assigns a number to each kind of event."""

    def __init__(self) -> None:
        super().__init__()
        self.names = Numbered()
        self.categories = Numbered()  # names in the trace
        self.threads = Numbered()  # process and thread
        self.details = Numbered()
        self.has_foreign = False  # whether any event was not written by Kineto
        self._tables = {
            "name": array("i"),
            "category": array("i"),
            "thread": array("i"),
            "device": array("i"),
            "forward_thread": array("i"),
            "detail": array("i"),
            "is_foreign": array("i"),
            "is_rich": array("i"),
        }

    def of(self, rows: Sequence[Any], arguments: Sequence[Any]) -> npt.NDArray[np.int32]:
        """The kind of each event."""
        shapes = map(bytes, [argument.shapes for argument in arguments])
        numbers = [
            self[
                row.name,
                row.cat,
                row.pid,
                row.tid,
                argument.device,
                argument.forward_thread,
                argument.collective,
                shape,
            ]
            for row, argument, shape in zip(rows, arguments, shapes, strict=True)
        ]
        return np.fromiter(numbers, np.int32, len(numbers))

    def __missing__(self, key: tuple[Any, ...]) -> int:
        name, category, process, thread, device, forward_thread, collective, shapes = key
        lower = category.lower()
        is_backward = forward_thread > 0
        is_foreign = lower not in OWN_CATEGORIES
        self.has_foreign |= is_foreign
        self._add(
            name=self.names[name],
            category=self.categories[category],
            thread=self.threads[process, thread],
            device=device,
            forward_thread=forward_thread,
            detail=self.details[(shapes, b"", b"", True) if is_backward else shapes],
            is_foreign=is_foreign,
            is_rich=lower in _ON_DEVICE or bool(collective),
        )
        self[key] = number = len(self)
        return number

    def details_of(
        self, kinds: npt.NDArray[np.int32], arguments: Sequence[Any]
    ) -> npt.NDArray[np.int32]:
        """The detail of each event: that of its kind, or its own for richer events."""
        details = self.column("detail", kinds)
        rich = np.flatnonzero(self.column("is_rich", kinds))
        if len(rich):
            details[rich] = [self.details[_detail_key(arguments[row])] for row in rich.tolist()]
        return details

    def column(self, name: str, kinds: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """A property of events by their kinds."""
        if not len(kinds):
            return np.empty(0, dtype=np.int32)
        table = np.frombuffer(self._tables[name], dtype=np.int32)
        return table[kinds]

    def _add(self, **values: int) -> None:
        for name, value in values.items():
            self._tables[name].append(value)


def _detail_key(arguments: Any) -> Hashable:
    """The key of an event's details."""
    key = (
        bytes(arguments.shapes),
        bytes(arguments.grid),
        bytes(arguments.block),
        arguments.forward_thread > 0,
        arguments.size,
        arguments.bandwidth,
        arguments.occupancy,
    )
    return key + _OF_COLLECTIVES(arguments) if arguments.collective else key


def detail_text(key: Any) -> str:
    """The details of an event as compact JSON."""
    if isinstance(key, str):
        return _COMPACT(json.loads(key)) if key else ""
    plain = (key, b"", b"", False)
    shapes, grid, block, is_backward, *facts = plain if isinstance(key, bytes) else key
    fields = [
        f'"{name}":{b"".join(raw.split()).decode()}'  # numbers and brackets only
        for name, raw in (("shapes", shapes), ("grid", grid), ("block", block))
        if raw
    ]
    if is_backward:
        fields.append('"pass":"backward"')
    for (_, name), value in zip(_FACTS, facts, strict=False):
        if value not in _MISSING:
            fields.append(
                f'"{name}":{_COMPACT(value) if isinstance(value, str) else _number(value)}'
            )
    return f"{{{','.join(fields)}}}" if fields else ""


def _number(value: float) -> str:
    return repr(int(value) if value == int(value) else value)
