"""Small JSON documents of frozen records, each with a checksum.

They are human-readable, bit flips are detected, and newer formats are rejected.
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
from sonde.records.renamed import EARLIER_NAME
from sonde.store.format import FORMAT_VERSION, refuse_newer_format

Record = TypeVar("Record")
Builder = Callable[[Any], Any]


def encode_facts(record: object, key: str | None = None) -> bytes:
    """Encode a record as a JSON document whose first line is the checksum of the rest.

    Args:
        record: The record.
        key: The key of the document; readers reject it under any other key.
    """
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"{record!r} is not a record")
    key_field = {} if key is None else {"key": key}
    body = {"format": FORMAT_VERSION, **key_field, **dataclasses.asdict(record)}
    rest = json.dumps(body, indent=1).removeprefix("{").lstrip("\n").encode() + b"\n"
    return _first_line(rest) + rest


def decode_facts(kind: type[Record], data: bytes, key: str) -> Record:
    """Decode the record in a document.

    Raises:
        DamagedError: The document is damaged, or holds another kind of record.
        FormatTooNewError: It was written by a newer version.
    """
    body = decode_document(data, key)
    try:
        return cast("Record", _build(kind, body))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DamagedError(f"{key} is not a valid {kind.__name__}: {error}") from error


def build_record(kind: type[Record], value: object) -> Record:
    """Build a record from plain JSON values.

    Raises:
        TypeError: A value has the wrong type.
        ValueError: A value is invalid.
    """
    return cast("Record", _build(kind, value))


def decode_document(data: bytes, key: str) -> dict[str, Any]:
    """The content of a document of any kind, after verifying its checksum."""
    first, _, rest = bytes(data).partition(b"\n")
    if first + b"\n" != _first_line(rest):
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    try:
        body = json.loads(data)
        version = int(body["format"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(f"{key} is damaged: not a Sonde document") from error
    refuse_newer_format(version, key)
    if body.get("key", key) != key:
        raise DamagedError(f"{key} is damaged: it is a copy of {body['key']}")
    return cast("dict[str, Any]", body)


def _first_line(rest: bytes) -> bytes:
    return f'{{"crc32": "{zlib.crc32(rest):08x}",\n'.encode()


_MAX_INTEGER = 2**63  # times and counts are 64-bit


def _build(kind: Any, value: Any) -> Any:
    """Convert plain JSON to an annotated type; unknown fields are ignored.

    Raises:
        TypeError: A value has the wrong type.
        ValueError: A value is invalid.
    """
    return _builder(kind)(value)


@cache
def _builder(kind: Any) -> Builder:
    """The conversion function of a type, built once because it runs for many values."""
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
    kinds = [each for each in typing.get_args(kind) if each is not type(None)]
    first, several = _builder(kinds[0]), len(kinds) > 1

    def build(value: Any) -> Any:
        if value is None:
            return None
        return _builder(_fitting(kinds, value))(value) if several else first(value)

    return build


def _fitting(kinds: list[Any], value: Any) -> Any:
    """The type of a union that matches a value."""
    fitting = [
        candidate
        for candidate in kinds
        if isinstance(candidate, type) and isinstance(value, candidate)
    ]
    return fitting[0] if fitting else kinds[0]


def _record_builder(kind: type) -> Builder:
    hints = typing.get_type_hints(kind)
    fields = [(name, _builder(hint)) for name, hint in hints.items()]
    earlier_names = {
        field.metadata[EARLIER_NAME]: field.name
        for field in dataclasses.fields(kind)
        if EARLIER_NAME in field.metadata
    }

    def build(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r:.80} is not a {kind.__name__}")
        if earlier_names:
            value = {earlier_names.get(name, name): item for name, item in value.items()}
        return kind(**{name: build(value[name]) for name, build in fields if name in value})

    return build


def _plain_builder(kind: type) -> Builder:
    if kind is int:
        return lambda value: (
            value
            if type(value) is int and -_MAX_INTEGER <= value < _MAX_INTEGER
            else _plain(int, value)
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
    if isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise ValueError(f"{value!r:.80} is too large")
    return value
