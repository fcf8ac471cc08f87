"""Decode trace events with the standard library: slower, but tolerant.

Some programs write numbers as texts, omit names or write invalid JSON values. These events are
converted to the same types as in `typed_events`.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Non-finite numbers as printed by C.
_NOT_JSON = re.compile(r"(?<=[:\[,\s])(-?)(inf|nan|-nan\(ind\))(?=[,\]}\s])")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The relevant arguments of an event, in Kineto's order."""

    sequence: int = -1
    forward_thread: int = 0
    shapes: bytes = b""
    device: int = -1
    correlation: int = -1
    grid: bytes = b""
    block: bytes = b""
    occupancy: float = -1.0
    size: float = -1.0
    bandwidth: float = -1.0
    collective: str = ""
    elements_in: int = -1
    elements_out: int = -1
    group_size: int = -1
    dtype: str = ""
    group: str = ""
    group_label: str = ""
    ranks: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a trace."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = 0.0
    dur: float = 0.0
    args: Arguments = field(default_factory=Arguments)


# The names of the arguments in traces.
ARGUMENT_NAMES = {
    "sequence": "Sequence number",
    "forward_thread": "Fwd thread id",
    "size": "bytes",
    "bandwidth": "memory bandwidth (GB/s)",
    "occupancy": "est. achieved occupancy %",
    "collective": "Collective name",
    "elements_in": "In msg nelems",
    "elements_out": "Out msg nelems",
    "group_size": "Group size",
    "group": "Process Group Name",
    "group_label": "Process Group Description",
    "ranks": "Process Group Ranks",
    "shapes": "Input Dims",
}
_NOTHING = Arguments()
_ARGUMENTS = tuple(
    (name, ARGUMENT_NAMES.get(name, name), getattr(_NOTHING, name)) for name in Arguments.__slots__
)


def decode_events(listed: bytes) -> list[Any]:
    """The events of a JSON array; other values are skipped."""
    return [_event(event) for event in _listed(listed)]


def decode_arguments(listed: bytes) -> list[str]:
    """All arguments of each event of a JSON array, as JSON."""
    arguments = (each.get("args") for each in _listed(listed))
    return [json.dumps(each, separators=(",", ":")) if each else "" for each in arguments]


def _listed(listed: bytes) -> list[dict[str, Any]]:
    text = listed.decode(errors="replace")
    try:
        values = json.loads(text, strict=False)
    except ValueError:
        values = json.loads(_NOT_JSON.sub("null", text), strict=False)
    return [value for value in values if isinstance(value, dict)]


def _event(fields: Mapping[str, Any]) -> Event:
    arguments = fields.get("args")
    return Event(
        ph=_text(fields.get("ph")),
        cat=_text(fields.get("cat")),
        name=_text(fields.get("name")),
        pid=_identifier(fields.get("pid")),
        tid=_identifier(fields.get("tid")),
        ts=_number(fields.get("ts"), 0.0),
        dur=_number(fields.get("dur"), 0.0),
        args=_arguments(arguments) if isinstance(arguments, dict) else _NOTHING,
    )


def _arguments(arguments: Mapping[str, Any]) -> Arguments:
    values: dict[str, Any] = {}
    for name, stated, default in _ARGUMENTS:
        value = arguments.get(stated)
        if value is None:
            continue
        if isinstance(default, bytes):
            values[name] = json.dumps(value).encode()
        elif isinstance(default, str):
            values[name] = _text(value)
        else:
            values[name] = type(default)(_number(value, default))
    return Arguments(**values)


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _identifier(value: object) -> int | str:
    return value if isinstance(value, int) else _text(value)


def _number(value: Any, default: float) -> float:
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return default
    return number if math.isfinite(number) else default
