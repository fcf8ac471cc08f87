"""The [actions] section of a configuration file; each action validates its own keys."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from sonde.errors import UsageError
from sonde.settings.checks import Key, text

ACTIONS_SECTION = "actions"
ACTIONS_KEYS = (
    Key(
        *("actions.NAME", "kind", "kind", text, "NAME"),
        "the action, if NAME is a custom name (for example, for a second webhook)",
    ),
    Key(
        *("actions.NAME", "…", "table", text, ""),
        "a setting of the action; `sonde actions KIND` lists them",
    ),
)


@dataclass(frozen=True, slots=True)
class ActionSettings:
    """The settings of one action."""

    name: str
    kind: str
    table: Mapping[str, object] = field(default_factory=dict)
    where: str = ""  # prefix of error messages
    folder: Path | None = None  # of the configuration file; the base of relative names


@dataclass(frozen=True, slots=True)
class ActionsSettings:
    """The settings of all actions."""

    actions: tuple[ActionSettings, ...] = ()
    requested: tuple[str, ...] = ()  # on the command line, for findings of all rules
    rewrites_report: bool = True  # when findings change

    def of(self, name: str) -> ActionSettings:
        """The settings of one action; defaults if it is not configured."""
        by_name = {action.name: action for action in self.actions}
        return by_name.get(name) or ActionSettings(name, name, where=f"[{ACTIONS_SECTION}.{name}]")

    @property
    def words(self) -> tuple[str, ...]:
        """The command-line options that request the same actions."""
        options = ("--action", ",".join(self.requested)) if self.requested else ()
        return options if self.rewrites_report else (*options, "--no-report")

    @property
    def secret_variables(self) -> frozenset[str]:
        """The environment variables that contain secrets."""
        return frozenset(
            str(value)
            for action in self.actions
            for name, value in action.table.items()
            if name.endswith("_env")
        )

    def with_requested(self, texts: Iterable[str]) -> Self:
        """Add the actions of command-line options, each a comma-separated list."""
        names = (name.strip() for text in texts for name in text.split(","))
        return replace(self, requested=tuple(dict.fromkeys(name for name in names if name)))


def read_actions(table: Mapping[str, object], path: Path) -> ActionsSettings:
    """Read the tables of the [actions] section."""
    actions = []
    for name, value in table.items():
        where = f"{path}: [{ACTIONS_SECTION}.{name}]"
        if not isinstance(value, dict):
            raise UsageError(
                f"{path}: [{ACTIONS_SECTION}] {name} = {value!r} is not a table. "
                f"Put the settings of an action under [{ACTIONS_SECTION}.NAME]."
            )
        rest = dict(value)
        kind = text(rest.pop("kind", name), f"{where} kind")
        actions.append(ActionSettings(name, kind, rest, where, path.absolute().parent))
    return ActionsSettings(tuple(actions))
