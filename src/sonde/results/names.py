"""What people ask for by name: known names, and what to say where there is none."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from sonde.errors import UsageError, known_names
from sonde.records.step import Mode


def known_mode(mode: str) -> str:
    """The mode of that name.

    Raises:
        UsageError: There is none.
    """
    known = [one.value for one in Mode]
    if mode not in known:
        raise UsageError(f"There is no mode {mode!r}. Known: {', '.join(known)}")
    return str(mode)


def nothing_like(what: str, asked: str, known: Iterable[str]) -> str:
    """What to say where nothing has such a name, with those that are close to it."""
    names = sorted(set(known))
    if not names or any(fnmatchcase(name, asked) for name in names):
        return f"no such {what} has been recorded"  # or another choice leaves out what there is
    return f"no {what} {asked!r} has been recorded.{known_names(asked, names)}"
