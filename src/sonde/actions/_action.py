"""What an action is: settings, and something it does about one finding.

An action knows no rules. It is told an occasion, does what it does once, and says in words what
that was; when it is called, how often and after which pause, is decided elsewhere.
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

_SEVERITY = one_of(one.value for one in Severity)


@dataclass(frozen=True, slots=True)
class Occasion:
    """What an action is told: a finding, and the job it is about."""

    job: str
    episode: Episode
    backend: Backend
    clock: Clock
    is_trial: bool = False
    since_ns: int = 0  # when the present attempt at the job began


def key(name: str, check: Check, default: str, meaning: str, field: str = "") -> Key:
    """A setting of an action."""
    return Key("actions.NAME", name, field or name, check, default, meaning)


def secret_keys(field: str, meaning: str) -> tuple[Key, ...]:
    """The two ways to say where a secret is."""
    return (
        key(f"{field}_env", secret_variable, "", f"the variable that holds {meaning}", field),
        key(f"{field}_file", secret_file, "", f"the file that holds {meaning}", field),
    )


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclass(frozen=True, kw_only=True)
class Action(ABC):
    """Something that happens on a finding. Subclass it; fields are settings, named by `keys`.

    The first line of the docstring says what it does.
    """

    keys: ClassVar[tuple[Key, ...]] = ()
    required: ClassVar[tuple[str, ...]] = ()  # fields without which it cannot be
    # Where nothing else is set: how bad a finding has to be, and how long it is quiet afterwards
    # about what the same rule finds.
    usual_severity: ClassVar[Severity] = Severity.WARNING
    usual_cool_down_seconds: ClassVar[float] = 600.0
    # Whether it does something to the running job: then only what is found in it now counts.
    is_on_the_job: ClassVar[bool] = False
    is_once: ClassVar[bool] = False  # for each attempt at the job, whatever else is found

    name: str
    folder: Path  # where relative names of files begin
    min_severity: Severity
    cool_down_seconds: float

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        dataclass(frozen=True, kw_only=True)(cls)

    @abstractmethod
    def perform(self, occasion: Occasion) -> str:
        """Does it; what was done, in words, without a secret in them.

        Raises:
            ActionError: It could not be done, now or ever.
        """

    def done_before(self, occasion: Occasion) -> str:
        """What the training process did about the finding by itself; empty: nothing."""
        del occasion
        return ""

    def trial(self, occasion: Occasion) -> str:
        """What `sonde actions test` does."""
        return self.perform(occasion)

    def ready(self) -> None:
        """Looks for what can be wrong before the job starts; reads secrets, and keeps none.

        Raises:
            UsageError: It could never be done with these settings.
        """
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Secret):
                value.read()

    @classmethod
    def all_keys(cls) -> tuple[Key, ...]:
        """Every setting, with those that all actions have."""
        pause = f"{cls.usual_cool_down_seconds / 60:g}min"
        return (
            *cls.keys,
            key(
                *("min_severity", _SEVERITY, f'"{cls.usual_severity.value}"'),
                "how bad a finding has to be: `info`, `warning` or `critical`",
            ),
            key(
                *("cool_down", duration, f'"{pause}"'),
                "for so long after it was taken nothing follows what the same rule finds, unless "
                "that is worse; what is still wrong then is not forgotten",
                "cool_down_seconds",
            ),
        )

    @classmethod
    def summary(cls) -> str:
        """What it does, in a line."""
        return (inspect.getdoc(cls) or cls.__name__).partition("\n")[0]

    @classmethod
    def build(cls, settings: ActionSettings, folder: Path) -> Self:
        """The action with what a file says about it, each value checked.

        Args:
            settings: What is said.
            folder: Where relative names of files begin, if no file says so.
        """
        begin = settings.folder or folder
        found = _read(cls.all_keys(), settings.table, settings.where)
        found = {name: _placed(value, begin) for name, value in found.items()}
        names = {one.field: one.name for one in reversed(cls.keys)}
        for field in cls.required:
            if field not in found:
                raise UsageError(f"{settings.where} needs {names[field]}: {_help(cls, field)}.")
        found["min_severity"] = Severity(found.get("min_severity", cls.usual_severity))
        found.setdefault("cool_down_seconds", cls.usual_cool_down_seconds)
        action = cls(name=settings.name, folder=begin, **found)
        action.ready()
        return action


def _read(keys: tuple[Key, ...], table: Mapping[str, object], where: str) -> dict[str, Any]:
    fields: dict[str, str] = {}
    for one in keys:
        if one.name in table:
            if one.field in fields:
                both = f"{fields[one.field]} and {one.name}"
                raise UsageError(f"{where} {both} exclude each other: keep one of them.")
            fields[one.field] = one.name
    return read_table(keys, table, where)


def _placed(value: object, folder: Path) -> object:
    if isinstance(value, Path):
        return folder / value.expanduser()
    return value.beside(folder) if isinstance(value, Secret) else value


def _help(kind: type[Action], field: str) -> str:
    return next(one.help for one in kind.keys if one.field == field)
