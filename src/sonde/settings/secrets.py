"""Secrets: named in a configuration file, known to a variable or a file, read when needed."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.errors import UsageError
from sonde.settings.checks import text


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is; never the secret itself, so that nothing that keeps this keeps it."""

    key: str  # that names it, for the words about what is wrong
    variable: str | None = None
    file: Path | None = None

    def beside(self, folder: Path) -> "Secret":
        """With a relative file taken from a folder."""
        return self if self.file is None else replace(self, file=folder / self.file)

    def read(self) -> str:
        """The secret."""
        if self.variable is not None:
            found = os.environ.get(self.variable, "")
            if not found:
                raise UsageError(f"{self.key} = {self.variable!r}: no such variable is set.")
            return found
        assert self.file is not None
        try:
            found = self.file.expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise UsageError(f"{self.key} = {str(self.file)!r} cannot be read: {why}.") from error
        if not found:
            raise UsageError(f"{self.key} = {str(self.file)!r} is empty.")
        return found


def secret_variable(value: object, key: str) -> Secret:
    """The name of a variable of the environment."""
    return Secret(key, variable=text(value, key))


def secret_file(value: object, key: str) -> Secret:
    """The name of a file that holds a secret and nothing else."""
    return Secret(key, file=Path(text(value, key)))
