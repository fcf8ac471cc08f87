"""Placeholder for a rule that cannot be imported; the other rules still run."""

import traceback
from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.rules._rule import Rule, State


class BrokenRule(Rule):
    """The rule cannot be imported."""

    reason: ClassVar[str] = ""
    traceback: ClassVar[str] = ""

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Yield no findings."""
        del window, state
        yield from ()


def broken_rule(name: str, error: BaseException) -> type[BrokenRule]:
    """Create a placeholder rule that reports why the rule cannot be imported."""
    reason = f"cannot be imported: {type(error).__name__}: {error}"
    attributes = {
        "__doc__": f"{reason[0].upper()}{reason[1:]}",
        "reason": reason,
        "traceback": "".join(traceback.format_exception(error)),
    }
    return type(name, (BrokenRule,), attributes)
