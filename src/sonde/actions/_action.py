"""The base class of actions.

An action knows nothing about rules. It receives an occasion, acts once, and returns a description
of what it did. When and how often it is called is decided elsewhere.
"""

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, dataclass_transform

from sonde.clock import Clock
from sonde.errors import UsageError
from sonde.records.finding import Episode, Severity
from sonde.settings import ActionSettings, Key, Secret
from sonde.settings.checks import Check, duration, one_of, read_table
from sonde.settings.secrets import secret_file, secret_variable
from sonde.store.backends import Backend

_SEVERITY = one_of(severity.value for severity in Severity)


@dataclass(frozen=True, slots=True)
class Occasion:
    """The finding that triggers an action, and its job."""

    job: str
    episode: Episode
    backend: Backend
    clock: Clock
    is_trial: bool = False
    since_ns: int = 0  # start of the current attempt


def key(name: str, check: Check, default: str, meaning: str, field: str = "") -> Key:
    """Declare a setting of an action."""
    return Key("actions.NAME", name, field or name, check, default, meaning)


def secret_keys(field: str, meaning: str) -> tuple[Key, ...]:
    """Declare the two settings that name a secret."""
    return (
        key(f"{field}_env", secret_variable, "", f"environment variable with {meaning}", field),
        key(f"{field}_file", secret_file, "", f"file with {meaning}", field),
    )


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclass(frozen=True, kw_only=True)
class Action(ABC):
    """Base class of actions, which run when a rule finds a problem. Fields are settings.

    The first line of the docstring is the action's description.
    """

    keys: ClassVar[tuple[Key, ...]] = ()
    required: ClassVar[tuple[str, ...]] = ()  # fields that must be set
    # The defaults of min_severity and cool_down.
    default_severity: ClassVar[Severity] = Severity.WARNING
    default_cool_down_seconds: ClassVar[float] = 600.0
    # Whether it acts on the running job: then only findings of the current attempt count.
    affects_job: ClassVar[bool] = False
    runs_once: ClassVar[bool] = False  # per attempt

    name: str
    folder: Path  # the base of relative file names
    min_severity: Severity
    cool_down_seconds: float

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        dataclass(frozen=True, kw_only=True)(cls)

    @abstractmethod
    def perform(self, occasion: Occasion) -> str:
        """Perform the action; return a description without secrets.

        Raises:
            ActionError: The action failed.
        """

    def already_done(self, occasion: Occasion) -> str:
        """What the training process has already done about the finding; empty for nothing."""
        del occasion
        return ""

    def trial(self, occasion: Occasion) -> str:
        """Perform the action for `sonde actions test`."""
        return self.perform(occasion)

    def ready(self) -> None:
        """Validate the settings before the job starts; secrets are read but not stored.

        Raises:
            UsageError: The action can never succeed with these settings.
        """
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Secret):
                value.read()

    @classmethod
    def all_keys(cls) -> tuple[Key, ...]:
        """All settings, including those common to all actions."""
        pause = f"{cls.default_cool_down_seconds / 60:g}min"
        return (
            *cls.keys,
            key(
                *("min_severity", _SEVERITY, f'"{cls.default_severity.value}"'),
                "minimum severity of a finding: `info`, `warning` or `critical`",
            ),
            key(
                *("cool_down", duration, f'"{pause}"'),
                "minimum time between two actions for the same rule, unless the new finding is "
                "more severe; problems still open afterward are reported then",
                "cool_down_seconds",
            ),
        )

    @classmethod
    def summary(cls) -> str:
        """The description in one line."""
        return (inspect.getdoc(cls) or cls.__name__).partition("\n")[0]

    @classmethod
    def build(cls, settings: ActionSettings, folder: Path) -> Self:
        """Create the action from its settings and validate it.

        Args:
            settings: The settings of the action.
            folder: The base of relative file names, unless a configuration file sets it.
        """
        base = settings.folder or folder
        values = _read(cls.all_keys(), settings.table, settings.where)
        values = {name: _resolve(value, base) for name, value in values.items()}
        conflicting = {each.field: each.name for each in reversed(cls.keys)}
        for field in cls.required:
            if field not in values:
                raise UsageError(
                    f"{settings.where} requires {conflicting[field]}: {_help(cls, field)}."
                )
        values["min_severity"] = Severity(values.get("min_severity", cls.default_severity))
        values.setdefault("cool_down_seconds", cls.default_cool_down_seconds)
        action = cls(name=settings.name, folder=base, **values)
        action.ready()
        return action


def _read(keys: tuple[Key, ...], table: Mapping[str, object], where: str) -> dict[str, Any]:
    fields: dict[str, str] = {}
    for each in keys:
        if each.name in table:
            if each.field in fields:
                conflicting = f"{fields[each.field]} and {each.name}"
                raise UsageError(f"{where} {conflicting} are mutually exclusive: remove one.")
            fields[each.field] = each.name
    return read_table(keys, table, where)


def _resolve(value: object, folder: Path) -> object:
    if isinstance(value, Path):
        return folder / value.expanduser()
    return value.relative_to(folder) if isinstance(value, Secret) else value


def _help(kind: type[Action], field: str) -> str:
    return next(each.help for each in kind.keys if each.field == field)
