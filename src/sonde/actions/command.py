"""`command`: run a program."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import IO, ClassVar

from sonde.actions._action import Action, Occasion, key
from sonde.actions._message import encoded
from sonde.errors import ActionError, UsageError
from sonde.formats import format_duration
from sonde.settings import Key, environment
from sonde.settings.checks import duration, listed, text

_MAX_TAIL = 300


class Command(Action):
    """Run a program; it receives the finding as JSON on standard input and in its environment."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("run", listed(text), "", "program and arguments, as a list; no shell is used"),
        key(
            *("timeout", duration, '"60s"', "time limit, after which the program is killed"),
            "timeout_seconds",
        ),
    )
    required: ClassVar[tuple[str, ...]] = ("run",)

    run: tuple[str, ...] = ()
    timeout_seconds: float = 60.0

    def ready(self) -> None:
        """Check that the program exists."""
        super().ready()
        if not self.run or self._program() is None:
            raise UsageError(f"{self.name}: run = {list(self.run)!r}: program not found.")

    def perform(self, occasion: Occasion) -> str:
        finding = occasion.episode.finding
        variables = {
            "SONDE_FINDING_JOB": occasion.job,
            "SONDE_FINDING_URI": occasion.backend.uri,
            "SONDE_FINDING_RULE": finding.rule,
            "SONDE_FINDING_SEVERITY": finding.severity.value,
            "SONDE_FINDING_MESSAGE": finding.message.replace("\0", ""),
            "SONDE_FINDING_TRIAL": "1" if occasion.is_trial else "0",
        }
        with tempfile.TemporaryFile() as output:
            code = self._run(encoded(occasion).encode(), {**environment(), **variables}, output)
            tail = _tail(output)
        if code:
            raise ActionError(f"{self.run[0]} exited with code {code}{tail and ': ' + tail}")
        return f"ran {self.run[0]}"

    def _run(self, content: bytes, variables: dict[str, str], output: IO[bytes]) -> int:
        program = self._program()
        if program is None:
            raise ActionError(f"{self.run[0]}: program not found")
        with tempfile.TemporaryFile() as document:  # not a pipe: the program may not read it
            document.write(content)
            document.seek(0)
            process = subprocess.Popen(
                (program, *self.run[1:]),
                stdin=document,
                stdout=output,
                stderr=output,
                env=variables,
                cwd=self.folder,
                start_new_session=True,
            )
        try:
            return process.wait(self.timeout_seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            limit = format_duration(self.timeout_seconds)
            raise ActionError(f"killed {self.run[0]} after {limit}", is_final=True) from None

    def _program(self) -> str | None:
        name = self.run[0]
        return shutil.which(str(self.folder / name) if os.sep in name else name)


def _tail(output: IO[bytes]) -> str:
    """The end of the output."""
    output.seek(0, os.SEEK_END)
    output.seek(max(0, output.tell() - _MAX_TAIL))
    return " ".join(output.read().decode(errors="replace").split())
