"""Patterns for names: a glob, or a regular expression if no name matches the glob."""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

# what only a regular expression has: `gpu.*` is a glob, `.*relu` and `gpu.*util` need not be
_SPECIAL = re.compile(r"[\^$+{}\\|()]|^\.\*|\.\*.")


@dataclass(frozen=True)
class Expression(Container[str]):
    """All texts in which a regular expression matches somewhere."""

    text: str

    def __contains__(self, text: object) -> bool:
        return self._compiled.search(str(text)) is not None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.text)

    @property
    def note(self) -> str:
        """How the pattern was read, for people."""
        return f"{self.text!r} is read as a regular expression: no name matches it as a glob."


def expression_of(pattern: str) -> Expression | None:
    """The pattern as a regular expression; None for a plain glob or an invalid expression."""
    try:
        re.compile(pattern)
    except re.error:
        return None
    return Expression(pattern) if _SPECIAL.search(pattern) else None


def select_names(pattern: str, names: Iterable[str]) -> tuple[list[str], Expression | None]:
    """The names that match a pattern, and the expression if it was read as one."""
    candidates = list(names)
    matches = [name for name in candidates if fnmatchcase(name, pattern)]
    expression = None if matches else expression_of(pattern)
    if expression is None:
        return matches, None
    matches = [name for name in candidates if name in expression]
    return matches, expression if matches else None
