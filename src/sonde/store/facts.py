"""Facts: small JSON documents of frozen records, each with its own checksum.

People can read them; a flipped bit is noticed; a newer format is refused with a clear word.
"""

import dataclasses
import json
import types
import typing
import zlib
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, cast

from sonde.errors import DamagedError
from sonde.store.format import FORMAT_VERSION, refuse_newer_format

Record = TypeVar("Record")


def encode_facts(record: object) -> bytes:
    """A record as a JSON document: a first line with the checksum of all that follows it."""
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"{record!r} is not a record")
    body = {"format": FORMAT_VERSION, **dataclasses.asdict(record)}
    rest = json.dumps(body, indent=1).removeprefix("{").lstrip("\n").encode() + b"\n"
    return _first_line(rest) + rest


def decode_facts(kind: type[Record], data: bytes, key: str) -> Record:
    """The record in a document; `key` is named when it is damaged or too new."""
    body = decode_document(data, key)
    try:
        return cast("Record", _build(kind, body))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{key} does not hold a {kind.__name__}: {error}") from error


def decode_document(data: bytes, key: str) -> dict[str, Any]:
    """The checked content of a document, whatever record it holds."""
    first, _, rest = bytes(data).partition(b"\n")
    if first + b"\n" != _first_line(rest):
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    body = json.loads(data)
    refuse_newer_format(int(body["format"]), key)
    return cast("dict[str, Any]", body)


def _first_line(rest: bytes) -> bytes:
    return f'{{"crc32": "{zlib.crc32(rest):08x}",\n'.encode()


_PLAIN = (str, int, bool, Any)  # what JSON gives back as it was


@lru_cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _build(kind: Any, value: Any) -> Any:
    """Turns plain JSON into what the annotation says; fields newer than us are left out."""
    if kind in _PLAIN or value is None:
        return value
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        hints = _hints(cast("type", kind))
        fields = {name: _build(hints[name], value[name]) for name in hints.keys() & value.keys()}
        return cast("type", kind)(**fields)
    if origin is tuple:
        return tuple(_build(typing.get_args(kind)[0], item) for item in value)
    if origin in (typing.Union, types.UnionType):
        inner = next(part for part in typing.get_args(kind) if part is not type(None))
        return _build(inner, value)
    if origin is not None:  # a mapping of plain values
        return value
    return kind(value) if issubclass(kind, Enum | float) else value
