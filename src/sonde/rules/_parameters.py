"""Validate and describe parameters of rules from files, the command line and calls."""

import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import isfinite
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
    """A string that is a regular expression; a list of them matches what any of them matches."""

    def joined(self, value: object) -> object:
        """One expression for a list; a comma separates items unless it belongs to an item."""
        if isinstance(value, str):
            value = _PATTERN_ITEM.findall(value) if "," in value else value
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            return value
        items = [item.strip() for item in value]
        return items[0] if len(items) == 1 else "|".join(f"(?:{item})" for item in items)

    def allows(self, value: str) -> bool:
        """Whether the string is a valid regular expression."""
        try:
            re.compile(value)
        except re.error:
            return False
        return True

    def __str__(self) -> str:
        return "a regular expression or a list of them"


_ITEM = re.compile(r"\s*[+,]\s*")
# a comma in {2,3}, [a,b] or (a,b) is part of an expression
_PATTERN_ITEM = re.compile(r"(?:\\.|\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,])+")

ModeName = typing.Literal["train", "eval", "predict", "global"]
Regex = Annotated[str, Pattern()]
Percent = Annotated[float, Between(0, 100)]
Positive = Annotated[float, Between(0)]
Count = Annotated[int, Between(1)]
Patience = Annotated[int, Between(0)] | typing.Literal["auto"]

_BOOLEANS = {"true": True, "false": False}

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


@dataclass(frozen=True, slots=True)
class ParameterPage:
    """The documentation of a parameter, as text."""

    name: str
    allowed: str
    default: str
    classic: str  # the default with the classic setting

    @property
    def defaults(self) -> str:
        """The default of both settings; one value if they are equal."""
        return (
            self.default
            if self.classic == self.default
            else f"{self.default}, classic: {self.classic}"
        )


def describe_parameters(kind: type[Rule]) -> list[ParameterPage]:
    """Describe every parameter of a rule, in order of definition."""
    hints = _hints(kind)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    classic = {**defaults, **kind.classic_defaults}
    return [
        ParameterPage(name, _allowed(hints[name]), _shown(defaults[name]), _shown(classic[name]))
        for name in parameter_names(kind)
    ]


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
        word = _word_of(value)
        return word, word in typing.get_args(choice)
    if typing.get_origin(choice) is Annotated:
        inner, limits = typing.get_args(choice)
        result, is_fit = _read(inner, limits.joined(value) if inner is str else value)
        return result, is_fit and limits.allows(result)
    if typing.get_origin(choice) is tuple:
        return _listed(choice, value)
    if isinstance(choice, type) and issubclass(choice, Setting):
        is_known = value in [item.value for item in Setting]
        return Setting(str(value)) if is_known else value, is_known
    return _plain(choice, value)


def _word_of(value: object) -> object:
    """The word of a choice in lower case: `train` for `TRAIN`, `ModeKeys.TRAIN` and its member."""
    if not isinstance(value, str | Enum):
        return value
    return str(value.name if isinstance(value, Enum) else value).rpartition(".")[2].lower()


def _listed(choice: Any, value: object) -> tuple[object, bool]:
    texts = _ITEM.split(value.strip()) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        texts = (texts,)
    read = [_read(typing.get_args(choice)[0], text) for text in texts]
    return tuple(result for result, _ in read), all(is_fit for _, is_fit in read)


def _plain(choice: Any, value: object) -> tuple[object, bool]:
    if choice is str:
        return value, isinstance(value, str)
    if choice is bool:
        value = _BOOLEANS.get(value.strip().lower(), value) if isinstance(value, str) else value
        return value, isinstance(value, bool)
    number = _number(value)
    if number is None:
        return value, False
    return (int(number), number == int(number)) if choice is int else (number, True)


def _number(value: object) -> float | None:
    """A number, also from its text; None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


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
