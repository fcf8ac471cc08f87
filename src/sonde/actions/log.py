"""`log`: a line in a file."""

from pathlib import Path
from typing import ClassVar

from sonde.actions._action import Action, Occasion, key
from sonde.actions._message import encoded, one_line
from sonde.clock import iso
from sonde.errors import ActionError, UsageError
from sonde.records.finding import Severity
from sonde.settings import Key
from sonde.settings.checks import file_name, one_of

_USUAL_FILE = "sonde-findings.log"


class Log(Action):
    """Write a line into a file."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("file", file_name, f'"{_USUAL_FILE}"', "the file; lines are added at its end"),
        key("shape", one_of(("text", "json")), '"text"', "a line for people, or one of JSON"),
    )
    usual_severity: ClassVar[Severity] = Severity.INFO
    usual_cool_down_seconds: ClassVar[float] = 0.0

    file: Path | None = None
    shape: str = "text"

    def ready(self) -> None:
        """The file can be written to."""
        super().ready()
        try:
            self._add("")
        except OSError as error:
            raise UsageError(f"{self._place()} cannot be written: {error.strerror}.") from error

    def perform(self, occasion: Occasion) -> str:
        time = iso(occasion.episode.last_ns)
        line = encoded(occasion) if self.shape == "json" else f"{time} {one_line(occasion)}"
        try:
            self._add(f"{line}\n")
        except OSError as error:
            raise ActionError(f"{self._place()} cannot be written: {error.strerror}") from error
        return f"a line in {self._place()}"

    def _place(self) -> Path:
        return self.file or self.folder / _USUAL_FILE

    def _add(self, line: str) -> None:
        with self._place().open("a", encoding="utf-8") as file:
            file.write(line)
