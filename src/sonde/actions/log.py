"""`log`: append a line to a file."""

from pathlib import Path
from typing import ClassVar

from sonde.actions._action import Action, Occasion, key
from sonde.actions._message import encoded, one_line
from sonde.clock import iso
from sonde.errors import ActionError, UsageError
from sonde.records.finding import Severity
from sonde.settings import Key
from sonde.settings.checks import file_name, one_of

_DEFAULT_FILE = "sonde-findings.log"


class Log(Action):
    """Append a line to a file."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("file", file_name, f'"{_DEFAULT_FILE}"', "file to append to"),
        key("shape", one_of(("text", "json")), '"text"', "line format: `text` or `json`"),
    )
    default_severity: ClassVar[Severity] = Severity.INFO
    default_cool_down_seconds: ClassVar[float] = 0.0

    file: Path | None = None
    shape: str = "text"

    def ready(self) -> None:
        """Check that the file can be written."""
        super().ready()
        try:
            self._add("")
        except OSError as error:
            raise UsageError(f"Cannot write {self._path()}: {error.strerror}.") from error

    def perform(self, occasion: Occasion) -> str:
        time = iso(occasion.episode.last_ns)
        line = encoded(occasion) if self.shape == "json" else f"{time} {one_line(occasion)}"
        try:
            self._add(f"{line}\n")
        except OSError as error:
            raise ActionError(f"cannot write {self._path()}: {error.strerror}") from error
        return f"appended to {self._path()}"

    def _path(self) -> Path:
        return self.file or self.folder / _DEFAULT_FILE

    def _add(self, line: str) -> None:
        with self._path().open("a", encoding="utf-8") as file:
            file.write(line)
