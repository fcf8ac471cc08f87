"""Consequences: what happens when a rule finds something, one file per action."""

from pathlib import Path

from sonde.actions._action import Action, Occasion, key, secret_keys
from sonde.errors import UsageError
from sonde.plugins import Slot
from sonde.settings import ActionSettings

__all__ = [
    "ACTIONS",
    "Action",
    "Occasion",
    "build_action",
    "key",
    "load_action",
    "secret_keys",
]

ACTIONS = Slot("sonde.actions", Action)


def load_action(kind: str, where: str = "") -> type[Action]:
    """The class of an action."""
    if kind.replace("-", "_") not in ACTIONS:
        known = ", ".join(ACTIONS.names())
        raise UsageError(f"{where and where + ' '}There is no action {kind!r}. Known: {known}")
    return ACTIONS.load(kind)


def build_action(settings: ActionSettings, folder: Path) -> Action:
    """An action as it is set up, checked and ready.

    Args:
        settings: What is said about it.
        folder: Where relative names of files begin, if no file says so.
    """
    is_told = bool(settings.table or settings.folder)
    return load_action(settings.kind, settings.where if is_told else "").build(settings, folder)
