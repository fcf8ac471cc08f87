"""The base class of records: they are stored in the details of observations, as JSON."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import UnionType
from typing import Any, Protocol, Self, Union, get_args, get_origin, get_type_hints

_KEY = "key"
_DAMAGE = (TypeError, ValueError, OverflowError)

_Convert = Callable[[Any], Any]
_Field = tuple[str, str, _Convert]

_cache: dict[type, tuple[_Field, ...]] = {}  # conversions of a class, built once


class Row(Protocol):
    """The columns of an observation that records are decoded from."""

    @property
    def subject(self) -> str:
        """What it is about."""

    @property
    def value(self) -> float:
        """Its number."""

    @property
    def detail(self) -> str:
        """The encoded record."""


def keyed(key: str, default: Any) -> Any:
    """Declare a field that is stored under another name than its own, such as `in`."""
    return field(default=default, metadata={_KEY: key})


@dataclass(frozen=True)
class ObservationRecord:
    """What a state check observed, besides the subject and the value of the observation.

    A subclass is a frozen dataclass whose fields all have defaults. Fields are `int`, `float`,
    `str`, `bool`, a `StrEnum`, tuples and mappings of these, or such a type and `None`.
    """

    def encode(self) -> str:
        """The detail of the observation; empty if all fields are."""
        facts = self._facts()
        return json.dumps(facts, separators=(",", ":")) if facts else ""

    @classmethod
    def of(cls, row: Row) -> Self:
        """Decode the record of an observation.

        Missing and damaged fields get their defaults.
        """
        return cls.decode(row.detail, row.subject, row.value)

    @classmethod
    def decode(cls, detail: str, subject: str = "", value: float = 0.0) -> Self:
        """Decode a record from the columns of an observation."""
        facts = cls._read(detail, subject, value)
        values: dict[str, Any] = {}
        for name, key, convert in _fields(cls):
            if key in facts:
                try:
                    values[name] = convert(facts[key])
                except _DAMAGE:
                    continue  # the default
        return cls(**values)

    def _facts(self) -> Mapping[str, Any]:
        """The content of the detail; nothing if all fields are empty."""
        facts = {key: getattr(self, name) for name, key, _ in _fields(type(self))}
        return {} if all(map(_is_empty, facts.values())) else facts

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        """The content of a detail, by key; override it to read rows of earlier versions."""
        del subject, value
        return json_object(detail)


def json_object(detail: str) -> dict[str, Any]:
    """Parse a detail; empty if it is not a JSON object."""
    if not detail.startswith("{"):
        return {}
    try:
        facts = json.loads(detail)
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _is_empty(value: object) -> bool:
    is_collection = isinstance(value, str | tuple | list | Mapping)
    return value is None or value is False or (is_collection and not value)


def _fields(kind: type[ObservationRecord]) -> tuple[_Field, ...]:
    """The name of each field, its key in the detail, and the conversion of its value."""
    cached = _cache.get(kind)
    if cached is None:
        hints = get_type_hints(kind)
        cached = _cache[kind] = tuple(
            (item.name, item.metadata.get(_KEY, item.name), _converter(hints[item.name]))
            for item in fields(kind)
        )
    return cached


def _converter(hint: Any) -> _Convert:
    """Build the conversion of JSON values to an annotated type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        [inner] = [_converter(each) for each in arguments if each is not type(None)]
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return _tuple_converter(arguments)
    if origin is not None and issubclass(origin, Mapping):
        of_key, of_value = _KEYS[arguments[0]], _converter(arguments[1])
        return lambda value: {of_key(key): of_value(item) for key, item in _items(value)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return _PLAIN[hint]


def _tuple_converter(hints: tuple[Any, ...]) -> _Convert:
    if hints[-1] is Ellipsis:
        each = _converter(hints[0])
        return lambda value: tuple([each(item) for item in _sequence(value)])
    converters = [_converter(hint) for hint in hints]

    def convert(value: Any) -> tuple[Any, ...]:
        items = zip(converters, _sequence(value), strict=True)
        return tuple([to_type(item) for to_type, item in items])

    return convert


def _sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.80} is not a list")
    return value


def _items(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.80} is not an object")
    return list(value.items())


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.80} is not a number")
    float(value)  # raises OverflowError for large integers
    return value


def _integer(value: Any) -> int:
    number = _number(value)
    if not math.isfinite(number) or number != int(number):
        raise ValueError(f"{value!r:.80} is not an integer")
    return int(number)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is not a string")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, int) or value not in (0, 1):
        raise TypeError(f"{value!r:.80} is not true or false")
    return bool(value)


_PLAIN: Mapping[Any, _Convert] = {
    int: _integer,
    float: _number,
    str: _text,
    bool: _boolean,
}
_KEYS: Mapping[Any, _Convert] = {int: int, float: float, str: str}  # of JSON objects: texts
