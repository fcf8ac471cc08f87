"""Secrets: configured by the name of a variable or file, and read when needed."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.errors import UsageError
from sonde.settings.checks import text


@dataclass(frozen=True, slots=True)
class Secret:
    """The location of a secret, never the secret itself."""

    key: str  # its key, for error messages
    variable: str | None = None
    file: Path | None = None

    def relative_to(self, folder: Path) -> "Secret":
        """Resolve a relative file name against a folder."""
        return self if self.file is None else replace(self, file=folder / self.file)

    def read(self) -> str:
        """Read the secret."""
        if self.variable is not None:
            secret = os.environ.get(self.variable, "")
            if not secret:
                raise UsageError(
                    f"{self.key} = {self.variable!r}: the environment variable is not set."
                )
            return secret
        assert self.file is not None
        try:
            secret = self.file.expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise UsageError(
                f"{self.key} = {str(self.file)!r} cannot be read: {reason}."
            ) from error
        if not secret:
            raise UsageError(f"{self.key} = {str(self.file)!r} is empty.")
        return secret


def secret_variable(value: object, key: str) -> Secret:
    """The name of an environment variable."""
    return Secret(key, variable=text(value, key))


def secret_file(value: object, key: str) -> Secret:
    """The name of a file that contains only the secret."""
    return Secret(key, file=Path(text(value, key)))
