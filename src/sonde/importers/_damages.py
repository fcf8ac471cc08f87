"""Damaged files of a recording: one remark per kind of file."""

from collections.abc import Callable
from pathlib import Path

from sonde.errors import DamagedError
from sonde.formats import pluralize


class Damages:
    """Collects damaged files; many files of one kind become one line."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}  # by kind of file

    def add(self, kind: str, path: Path, reason: str) -> None:
        """Report a file, such as `is truncated after 12 bytes`."""
        self._lines.setdefault(kind, []).append(f"{path} {reason}")

    def add_error(self, kind: str, error: DamagedError) -> None:
        """Report a file that cannot be read; the error names it."""
        self._lines.setdefault(kind, []).append(f"Skipped: {error}")

    def remarks(self) -> list[str]:
        """A line per kind: the first file, and the number of others."""
        lines = []
        for kind, (first, *rest) in self._lines.items():
            more = f" (and {pluralize(len(rest), f'more {kind}')})" if rest else ""
            lines.append(f"{first}{more}")
        return lines


def read_bytes(path: Path, advance: Callable[[int], None]) -> bytes:
    """The content of a file; reports how much was read.

    Raises:
        OSError: It cannot be read.
    """
    data = path.read_bytes()
    advance(len(data))
    return data
