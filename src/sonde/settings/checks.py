"""Checks of single values: each names the key, the value and what is allowed."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.errors import UsageError

SHORTEST_INTERVAL_SECONDS = 0.1
LONGEST_INTERVAL_SECONDS = 60.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h)")
_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B", re.IGNORECASE)

Check = Callable[[Any, str], Any]  # a value and its key in; what it means out


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the configuration file: where it is, what it sets, and what it means."""

    section: str
    name: str
    field: str
    check: Check
    default: str  # as one writes it in the file; empty: there is none
    help: str


def read_table(keys: Iterable[Key], table: Mapping[str, object], where: str) -> dict[str, Any]:
    """The checked values of a table, by the fields they set."""
    known = {key.name: key for key in keys}
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise UsageError(
                f"{where} unknown key {name} = {value!r}. Known: {', '.join(sorted(known))}"
            )
        found[known[name].field] = known[name].check(value, f"{where} {name}")
    return found


def parse_duration(text: str, key: str) -> float:
    """Seconds from a text like 500ms, 1s, 5min."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{key} = {text!r} is not a duration. Write it like 500ms, 2s or 1min.")
    return float(match[1]) * _DURATION_UNITS[match[2]]


def parse_interval(text: str, key: str = "interval") -> float:
    """Seconds between two samples, within what the sampler can do."""
    seconds = parse_duration(text, key)
    if not SHORTEST_INTERVAL_SECONDS <= seconds <= LONGEST_INTERVAL_SECONDS:
        raise UsageError(f"{key} = {text!r} is out of range. Allowed: 100ms to 60s.")
    return seconds


def parse_size(text: str, key: str) -> int:
    """Bytes from a text like 20GB or 500MB."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{key} = {text!r} is not a size. Write it like 500MB or 20GB.")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " "))


def text(value: object, key: str) -> str:
    """A text as it stands."""
    if not isinstance(value, str):
        raise UsageError(f"{key} = {value!r} must be a text in quotes.")
    return value


def duration(value: object, key: str) -> float:
    """A text that is a duration, in seconds."""
    return parse_duration(text(value, key), key)


def file_name(value: object, key: str) -> Path:
    """The name of a file."""
    name = text(value, key)
    if not name or "\0" in name:
        raise UsageError(f"{key} = {value!r} is no name of a file.")
    return Path(name)


def interval(value: object, key: str) -> float:
    """A text that is an interval between samples."""
    return parse_interval(text(value, key), key)


def size(value: object, key: str) -> int:
    """A text that is a size in bytes."""
    return parse_size(text(value, key), key)


def percent(value: object, key: str) -> float:
    """A share above nothing and not above everything."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UsageError(f"{key} = {value!r} must be a number.")
    if not 0 < value <= 100:
        raise UsageError(f"{key} = {value} is out of range. Allowed: above 0, at most 100.")
    return float(value)


def flag(value: object, key: str) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise UsageError(f"{key} = {value!r} must be true or false.")
    return value


def whole_number(lowest: int) -> Check:
    """A whole number from `lowest` on."""

    def check(value: object, key: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"{key} = {value!r} must be a whole number.")
        if value < lowest:
            raise UsageError(f"{key} = {value} is out of range. Allowed: {lowest} or more.")
        return value

    return check


def listed(check_one: Check) -> Check:
    """A list, each element checked."""

    def check(value: object, key: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise UsageError(f"{key} = {value!r} must be a list in square brackets.")
        return tuple(check_one(one, key) for one in value)

    return check


def one_of(allowed: Iterable[str]) -> Check:
    """One of these words."""
    words = tuple(allowed)

    def check(value: object, key: str) -> str:
        if value not in words:
            raise UsageError(f"{key} = {value!r} is unknown. Known: {', '.join(words)}")
        return str(value)

    return check


def regular_expression(value: object, key: str) -> str:
    """A text that can be searched for."""
    given = text(value, key)
    try:
        re.compile(given)
    except re.error as error:
        raise UsageError(f"{key} = {value!r} is not a regular expression: {error}") from error
    return given
