"""Validators of single values; errors name the key, the value and what is allowed."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.errors import UsageError

MIN_INTERVAL_SECONDS = 0.1
MAX_INTERVAL_SECONDS = 60.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h)")
_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B", re.IGNORECASE)

Check = Callable[[Any, str], Any]  # (value, key) -> validated value


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the configuration file: its section, field, validator, default and description."""

    section: str
    name: str
    field: str
    check: Check
    default: str  # as written in the file; empty for none
    help: str


def read_table(keys: Iterable[Key], table: Mapping[str, object], where: str) -> dict[str, Any]:
    """Validate a table; return the values by field."""
    by_name = {key.name: key for key in keys}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in by_name:
            raise UsageError(
                f"{where} unknown key {name} = {value!r}. Valid keys: {', '.join(sorted(by_name))}"
            )
        values[by_name[name].field] = by_name[name].check(value, f"{where} {name}")
    return values


def parse_duration(text: str, key: str) -> float:
    """Seconds from a text such as 500ms, 1s or 5min."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{key} = {text!r} is not a duration. Examples: 500ms, 2s, 1min")
    return float(match[1]) * _DURATION_UNITS[match[2]]


def parse_interval(text: str, key: str = "interval") -> float:
    """Seconds between two samples, within the range that the sampler supports."""
    seconds = parse_duration(text, key)
    if not MIN_INTERVAL_SECONDS <= seconds <= MAX_INTERVAL_SECONDS:
        raise UsageError(f"{key} = {text!r} is out of range. Use 100ms to 60s.")
    return seconds


def parse_size(text: str, key: str) -> int:
    """Bytes from a text such as 20GB or 500MB."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{key} = {text!r} is not a size. Examples: 500MB, 20GB")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " "))


def text(value: object, key: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise UsageError(f"{key} = {value!r} must be a string in quotes.")
    return value


def duration(value: object, key: str) -> float:
    """A duration in seconds."""
    return parse_duration(text(value, key), key)


def file_name(value: object, key: str) -> Path:
    """A file name."""
    name = text(value, key)
    if not name or "\0" in name:
        raise UsageError(f"{key} = {value!r} is not a valid file name.")
    return Path(name)


def interval(value: object, key: str) -> float:
    """A sampling interval in seconds."""
    return parse_interval(text(value, key), key)


def size(value: object, key: str) -> int:
    """A size in bytes."""
    return parse_size(text(value, key), key)


def percent(value: object, key: str) -> float:
    """A percentage above 0, up to 100."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UsageError(f"{key} = {value!r} must be a number.")
    if not 0 < value <= 100:
        raise UsageError(f"{key} = {value} is out of range. Use a number above 0, up to 100.")
    return float(value)


def price(value: object, key: str) -> float:
    """A price, in any currency."""
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except ValueError:
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or number < 0:
        raise UsageError(f"{key} = {value!r} must be a number such as 2.5.")
    return number


def flag(value: object, key: str) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise UsageError(f"{key} = {value!r} must be true or false.")
    return value


def whole_number(lowest: int) -> Check:
    """An integer, at least `lowest`."""

    def check(value: object, key: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"{key} = {value!r} must be an integer.")
        if value < lowest:
            raise UsageError(f"{key} = {value} is out of range. Use {lowest} or more.")
        return value

    return check


def listed(check_item: Check) -> Check:
    """A list whose items are validated."""

    def check(value: object, key: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise UsageError(f"{key} = {value!r} must be a list in square brackets.")
        return tuple(check_item(item, key) for item in value)

    return check


def one_of(allowed: Iterable[str]) -> Check:
    """One of several words."""
    words = tuple(allowed)

    def check(value: object, key: str) -> str:
        if value not in words:
            raise UsageError(f"{key} = {value!r} is invalid. Choose one of: {', '.join(words)}")
        return str(value)

    return check


def regular_expression(value: object, key: str) -> str:
    """A regular expression."""
    pattern = text(value, key)
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{key} = {value!r} is not a regular expression: {error}") from error
    return pattern
