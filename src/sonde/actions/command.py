"""`command`: runs a program of one's own."""

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
from sonde.settings import Key, environment
from sonde.settings.checks import duration, listed, text

_LONGEST_TAIL = 300


class Command(Action):
    """Run a program; the finding is on its standard input as JSON, and in its environment."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("run", listed(text), "", "the program and its words, as a list; no shell reads them"),
        key(
            *("timeout", duration, '"60s"', "after so long it is ended, and has failed"),
            "timeout_seconds",
        ),
    )
    required: ClassVar[tuple[str, ...]] = ("run",)

    run: tuple[str, ...] = ()
    timeout_seconds: float = 60.0

    def ready(self) -> None:
        """The program is there."""
        super().ready()
        if not self.run or self._program() is None:
            raise UsageError(f"{self.name}: run = {list(self.run)!r}: there is no such program.")

    def perform(self, occasion: Occasion) -> str:
        finding = occasion.episode.finding
        told = {
            "SONDE_FINDING_JOB": occasion.job,
            "SONDE_FINDING_URI": occasion.backend.uri,
            "SONDE_FINDING_RULE": finding.rule,
            "SONDE_FINDING_SEVERITY": finding.severity.value,
            "SONDE_FINDING_MESSAGE": finding.message.replace("\0", ""),
            "SONDE_FINDING_TRIAL": "1" if occasion.is_trial else "0",
        }
        with tempfile.TemporaryFile() as said:
            code = self._run(encoded(occasion).encode(), {**environment(), **told}, said)
            tail = _tail(said)
        if code:
            raise ActionError(f"{self.run[0]} ended with {code}{tail and ': ' + tail}")
        return f"{self.run[0]} has run"

    def _run(self, given: bytes, variables: dict[str, str], said: IO[bytes]) -> int:
        program = self._program()
        if program is None:
            raise ActionError(f"{self.run[0]}: there is no such program")
        with tempfile.TemporaryFile() as document:  # a program that reads nothing breaks no pipe
            document.write(given)
            document.seek(0)
            process = subprocess.Popen(
                (program, *self.run[1:]),
                stdin=document,
                stdout=said,
                stderr=said,
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
            late = f"{self.run[0]} was ended after {self.timeout_seconds:g} s"
            raise ActionError(late, is_final=True) from None

    def _program(self) -> str | None:
        name = self.run[0]
        return shutil.which(str(self.folder / name) if os.sep in name else name)


def _tail(said: IO[bytes]) -> str:
    """The end of what it has printed."""
    said.seek(0, os.SEEK_END)
    said.seek(max(0, said.tell() - _LONGEST_TAIL))
    return " ".join(said.read().decode(errors="replace").split())
