"""Check names in queries, and suggest similar ones."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from sonde.errors import UsageError, did_you_mean, known_names
from sonde.records.step import Mode


def known_mode(mode: object) -> str:
    """The mode of a name in any case: `TRAIN`, `ModeKeys.TRAIN`, or a member of another enum.

    Raises:
        UsageError: If there is no such mode.
    """
    modes = [mode.value for mode in Mode]
    name = str(getattr(mode, "name", mode)).rpartition(".")[2].lower()
    if name not in modes:
        suggestion = did_you_mean(name, modes)
        raise UsageError(f"Unknown mode {mode!r}.{suggestion} Available: {', '.join(modes)}")
    return name


def no_match_text(noun: str, pattern: str, candidates: Iterable[str]) -> str:
    """The text for a query without results, with similar names."""
    names = sorted(set(candidates))
    if not names or any(fnmatchcase(name, pattern) for name in names):
        return f"No matching {noun} recorded"  # other arguments of the query exclude it
    return f"No {noun} {pattern!r} recorded.{known_names(pattern, names)}"
