"""Facts: small JSON documents of frozen records, each with its own checksum.

People can read them; a flipped bit is noticed; a newer format is refused with a clear word.
"""

import dataclasses
import json
import types
import typing
import zlib
from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar, cast

from sonde.errors import DamagedError
from sonde.store.format import FORMAT_VERSION, refuse_newer_format

Record = TypeVar("Record")
Builder = Callable[[Any], Any]


def encode_facts(record: object, key: str | None = None) -> bytes:
    """A record as a JSON document: a first line with the checksum of all that follows it.

    Args:
        record: What it says.
        key: Where it will lie; a reader that finds it elsewhere does not take it for another's.
    """
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"{record!r} is not a record")
    place = {} if key is None else {"key": key}
    body = {"format": FORMAT_VERSION, **place, **dataclasses.asdict(record)}
    rest = json.dumps(body, indent=1).removeprefix("{").lstrip("\n").encode() + b"\n"
    return _first_line(rest) + rest


def decode_facts(kind: type[Record], data: bytes, key: str) -> Record:
    """The record in a document; `key` is named when it is damaged or too new."""
    body = decode_document(data, key)
    try:
        return cast("Record", _build(kind, body))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DamagedError(f"{key} does not hold a {kind.__name__}: {error}") from error


def build_record(kind: type[Record], value: object) -> Record:
    """A record from plain JSON values.

    Raises:
        TypeError: They are none of such a record.
        ValueError: Likewise.
    """
    return cast("Record", _build(kind, value))


def decode_document(data: bytes, key: str) -> dict[str, Any]:
    """The checked content of a document, whatever record it holds."""
    first, _, rest = bytes(data).partition(b"\n")
    if first + b"\n" != _first_line(rest):
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    try:
        body = json.loads(data)
        version = int(body["format"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(f"{key} is damaged: it is no document of Sonde") from error
    refuse_newer_format(version, key)
    if body.get("key", key) != key:
        raise DamagedError(f"{key} is damaged: it is a copy of {body['key']}")
    return cast("dict[str, Any]", body)


def _first_line(rest: bytes) -> bytes:
    return f'{{"crc32": "{zlib.crc32(rest):08x}",\n'.encode()


_LARGEST = 2**63  # times and counts fit into 64 bits


def _build(kind: Any, value: Any) -> Any:
    """Turns plain JSON into what the annotation says; fields newer than us are left out.

    Raises:
        TypeError: It holds something else.
        ValueError: Likewise.
    """
    return _builder(kind)(value)


@cache
def _builder(kind: Any) -> Builder:
    """The function that does so; annotations are looked at once, for there are many values."""
    origin = typing.get_origin(kind)
    if kind is Any:
        return lambda value: value
    if origin in (typing.Union, types.UnionType):
        return _optional_builder(kind)
    if origin is tuple:
        return partial(_sequence, _builder(typing.get_args(kind)[0]))
    if origin is not None:
        return partial(_mapping, kind)
    if dataclasses.is_dataclass(kind):
        return _record_builder(cast("type", kind))
    return _plain_builder(kind)


def _optional_builder(kind: Any) -> Builder:
    kinds = [one for one in typing.get_args(kind) if one is not type(None)]
    first, several = _builder(kinds[0]), len(kinds) > 1

    def build(value: Any) -> Any:
        if value is None:
            return None
        return _builder(_fitting(kinds, value))(value) if several else first(value)

    return build


def _fitting(kinds: list[Any], value: Any) -> Any:
    """Which of the kinds that may be there is."""
    fitting = [one for one in kinds if isinstance(one, type) and isinstance(value, one)]
    return fitting[0] if fitting else kinds[0]


def _record_builder(kind: type) -> Builder:
    hints = typing.get_type_hints(kind)
    fields = [(name, _builder(one)) for name, one in hints.items()]

    def build(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r:.80} is not a {kind.__name__}")
        return kind(**{name: build(value[name]) for name, build in fields if name in value})

    return build


def _plain_builder(kind: type) -> Builder:
    if kind is int:
        return lambda value: (
            value if type(value) is int and -_LARGEST <= value < _LARGEST else _plain(int, value)
        )
    return lambda value: value if type(value) is kind else _plain(kind, value)


def _sequence(build: Builder, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.80} is not a list")
    return tuple([build(item) for item in value])


def _mapping(kind: Any, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.80} is not an object")
    of_values = (*typing.get_args(kind), Any)[1]
    if of_values not in (int, str, float, bool):  # any JSON
        return value
    return {name: _plain(of_values, item) for name, item in value.items()}


def _plain(kind: type, value: Any) -> Any:
    if issubclass(kind, Enum):
        return kind(value)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r:.80} is not of type {kind.__name__}")
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError(f"{value!r:.80} is too large")
    return value
