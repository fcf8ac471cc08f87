"""What a configuration file says about actions; what an action's own keys may be, it knows."""

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
        "which action it is, where NAME is one of your own: two webhooks have two names",
    ),
    Key(
        *("actions.NAME", "…", "table", text, ""),
        "any setting of the action: `sonde actions KIND`",
    ),
)


@dataclass(frozen=True, slots=True)
class ActionSettings:
    """What is said about one action."""

    name: str
    kind: str
    table: Mapping[str, object] = field(default_factory=dict)
    where: str = ""  # what an error begins with
    folder: Path | None = None  # of the file; relative names in it begin there


@dataclass(frozen=True, slots=True)
class ActionsSettings:
    """What is said about all actions."""

    actions: tuple[ActionSettings, ...] = ()
    asked: tuple[str, ...] = ()  # on the command line, for what any rule finds
    rewrites_report: bool = True  # when what was found has changed; the command line may say no

    def of(self, name: str) -> ActionSettings:
        """One of them; with nothing but defaults where nothing is said about it."""
        known = {one.name: one for one in self.actions}
        return known.get(name) or ActionSettings(name, name, where=f"[{ACTIONS_SECTION}.{name}]")

    @property
    def words(self) -> tuple[str, ...]:
        """What was asked for on the command line, as options."""
        asked = ("--action", ",".join(self.asked)) if self.asked else ()
        return asked if self.rewrites_report else (*asked, "--no-report")

    @property
    def secret_variables(self) -> frozenset[str]:
        """The variables of the environment that are said to hold a secret."""
        return frozenset(
            str(value)
            for one in self.actions
            for name, value in one.table.items()
            if name.endswith("_env")
        )

    def with_asked(self, texts: Iterable[str]) -> Self:
        """With those that options name, joined by commas."""
        names = (name.strip() for one in texts for name in one.split(","))
        return replace(self, asked=tuple(dict.fromkeys(name for name in names if name)))


def read_actions(table: Mapping[str, object], path: Path) -> ActionsSettings:
    """The tables of the section [actions]."""
    actions = []
    for name, value in table.items():
        where = f"{path}: [{ACTIONS_SECTION}.{name}]"
        if not isinstance(value, dict):
            raise UsageError(
                f"{path}: [{ACTIONS_SECTION}] {name} = {value!r} is not in a table. "
                f"Settings of an action belong into [{ACTIONS_SECTION}.NAME]."
            )
        rest = dict(value)
        kind = text(rest.pop("kind", name), f"{where} kind")
        actions.append(ActionSettings(name, kind, rest, where, path.absolute().parent))
    return ActionsSettings(tuple(actions))
