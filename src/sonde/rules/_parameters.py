"""Validate and describe parameters of rules from files, the command line and calls."""

import dataclasses
import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from sonde.errors import UsageError
from sonde.records.finding import Setting
from sonde.rules._rule import Rule, parameter_names


@dataclass(frozen=True, slots=True)
class Between:
    """The range of a number; None for no limit."""

    minimum: float | None = None
    maximum: float | None = None

    def allows(self, value: float) -> bool:
        """Whether a number is within the range, limits included."""
        is_enough = self.minimum is None or value >= self.minimum
        return is_enough and (self.maximum is None or value <= self.maximum)

    def __str__(self) -> str:
        if self.maximum is None:
            return f"{self.minimum:g} or more"
        if self.minimum is None:
            return f"{self.maximum:g} or less"
        return f"{self.minimum:g} to {self.maximum:g}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A string that is a regular expression."""

    def allows(self, value: str) -> bool:
        """Whether the string is a valid regular expression."""
        try:
            re.compile(value)
        except re.error:
            return False
        return True

    def __str__(self) -> str:
        return "a regular expression"


Regex = Annotated[str, Pattern()]
Percent = Annotated[float, Between(0, 100)]
Positive = Annotated[float, Between(0)]
Count = Annotated[int, Between(1)]
Patience = Annotated[int, Between(0)] | typing.Literal["auto"]

_WORDS: dict[type, str] = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "a string",
}
_PLURALS: dict[type, str] = {int: "integers", float: "numbers", str: "strings"}


def build_rule(kind: type[Rule], parameters: Mapping[str, object], where: str = "") -> Rule:
    """Create a rule with validated parameters.

    Args:
        kind: The rule.
        parameters: Values by name; strings are converted to the type of the parameter.
        where: Prefix of error messages: a file and its section, or an option.
    """
    hints = _hints(kind)
    checked: dict[str, Any] = {}
    for name, value in parameters.items():
        key = f"{where or kind.name() + '.'}{name}"
        if name not in hints:
            available = ", ".join(hints)
            raise UsageError(
                f"{key} = {value!r}: {kind.name()} has no parameter {name}. Parameters: {available}"
            )
        checked[name] = _checked(hints[name], value, key)
    return kind(**checked)


def describe_parameters(kind: type[Rule]) -> list[tuple[str, str, str]]:
    """Name, allowed values and default of every parameter, as text."""
    hints = _hints(kind)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    return [(name, _allowed(hints[name]), _shown(defaults[name])) for name in parameter_names(kind)]


def _hints(kind: type[Rule]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {"setting": Setting, **{name: hints[name] for name in parameter_names(kind)}}


def _checked(hint: Any, value: object, key: str) -> object:
    for choice in _choices(hint):
        result, is_fit = _read(choice, value)
        if is_fit:
            return result
    raise UsageError(f"{key} = {value!r} must be {_allowed(hint)}.")


def _choices(hint: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else (hint,)


def _read(choice: Any, value: object) -> tuple[object, bool]:
    """Return the value converted to a type, and whether the type allows it."""
    if choice is type(None):
        return None, value is None or value in ("none", "None")
    if typing.get_origin(choice) is typing.Literal:
        return value, value in typing.get_args(choice)
    if typing.get_origin(choice) is Annotated:
        inner, limits = typing.get_args(choice)
        result, is_fit = _read(inner, value)
        return result, is_fit and limits.allows(result)
    if typing.get_origin(choice) is tuple:
        return _listed(choice, value)
    if isinstance(choice, type) and issubclass(choice, Setting):
        is_known = value in [item.value for item in Setting]
        return Setting(str(value)) if is_known else value, is_known
    return _plain(choice, value)


def _listed(choice: Any, value: object) -> tuple[object, bool]:
    texts = value.split("+") if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        texts = (texts,)
    read = [_read(typing.get_args(choice)[0], text) for text in texts]
    return tuple(result for result, _ in read), all(is_fit for _, is_fit in read)


def _plain(choice: Any, value: object) -> tuple[object, bool]:
    if choice is str:
        return value, isinstance(value, str)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value, False
    if choice is bool:
        return value, isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value, False
    if choice is int:
        return int(value), value == int(value)
    return float(value), True


def _allowed(hint: Any) -> str:
    """The allowed values as text, such as "train, eval or none"."""
    *others, last = (word for choice in _choices(hint) for word in _words(choice))
    comma = "," if any("," in word for word in others) else ""
    return f"{', '.join(others)}{comma} or {last}" if others else last


def _words(choice: Any) -> list[str]:
    if typing.get_origin(choice) is typing.Literal:
        return [str(value) for value in typing.get_args(choice)]
    if isinstance(choice, type) and issubclass(choice, Setting):
        return [item.value for item in Setting]
    return [_word(choice)]


def _word(choice: Any) -> str:
    if choice is type(None):
        return "none"
    if typing.get_origin(choice) is Annotated:
        inner, limits = typing.get_args(choice)
        return str(limits) if inner is str else f"{_WORDS[inner]}, {limits}"
    if typing.get_origin(choice) is tuple:
        item = typing.get_args(choice)[0]
        return f"a list of {_PLURALS[item]}" if item in _PLURALS else f"a list, each {_word(item)}"
    return _WORDS.get(choice, getattr(choice, "__name__", str(choice)))


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
