"""Decode trace events with msgspec, which skips fields that are not needed."""

from typing import Any

import msgspec

from sonde.traces.plain_events import ARGUMENT_NAMES

_NOTHING = msgspec.Raw()


class Arguments(msgspec.Struct, frozen=True, gc=False, rename=ARGUMENT_NAMES):
    """The relevant arguments of an event; see `plain_events`."""

    sequence: int = -1
    forward_thread: int = 0
    shapes: msgspec.Raw = _NOTHING
    device: int = -1
    correlation: int = -1
    grid: msgspec.Raw = _NOTHING
    block: msgspec.Raw = _NOTHING
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


_NO_ARGUMENTS = Arguments()


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of a trace."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = 0.0
    dur: float = 0.0
    args: Arguments = _NO_ARGUMENTS


class _ArgumentsOnly(msgspec.Struct, gc=False):
    args: msgspec.Raw = _NOTHING


_EVENTS = msgspec.json.Decoder(list[Event])
_ARGUMENTS = msgspec.json.Decoder(list[_ArgumentsOnly])


def decode_events(listed: bytes) -> list[Any]:
    """The events of a JSON array.

    Raises:
        ValueError: It is not an array of events, or an event has unexpected types.
    """
    return _EVENTS.decode(listed)


def decode_arguments(listed: bytes) -> list[str]:
    """All arguments of each event of a JSON array, as JSON."""
    return [bytes(event.args).decode(errors="replace") for event in _ARGUMENTS.decode(listed)]
