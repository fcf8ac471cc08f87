"""Actions that follow findings, one file per action."""

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
        names = ", ".join(ACTIONS.names())
        raise UsageError(f"{where and where + ' '}Unknown action {kind!r}. Available: {names}")
    return ACTIONS.load(kind)


def build_action(settings: ActionSettings, folder: Path) -> Action:
    """Build an action from its settings and validate it.

    Args:
        settings: The settings of the action.
        folder: The base of relative file names, unless a configuration file sets it.
    """
    is_configured = bool(settings.table or settings.folder)
    return load_action(settings.kind, settings.where if is_configured else "").build(
        settings, folder
    )
