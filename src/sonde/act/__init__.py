"""Consequences: what happens when a rule finds something, one file per action."""

from sonde.act._action import Action, Occasion
from sonde.errors import UsageError
from sonde.plugins import Slot

__all__ = ["ACTIONS", "Action", "Occasion", "load_action"]

ACTIONS = Slot("sonde.act", Action)


def load_action(kind: str, where: str = "") -> type[Action]:
    """The class of an action."""
    if kind.replace("-", "_") not in ACTIONS:
        known = ", ".join(ACTIONS.names())
        raise UsageError(f"{where and where + ' '}There is no action {kind!r}. Known: {known}")
    return ACTIONS.load(kind)
