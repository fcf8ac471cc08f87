"""Lets a process of its own watch the job with rules, on one node of the job.

The launcher starts it once there is something to judge and nobody else watches, starts it again if
it dies, and gives it a bounded time to finish when the job is over.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import IO

from sonde.agent.registration import Registration
from sonde.clock import Clock
from sonde.settings import RunSettings
from sonde.side_process import SideProcess, sonde_command
from sonde.store.layout import WORKERS
from sonde.store.lease import Leasing

# A watcher costs a second of CPU to start: a command that trains nothing gets none before this.
_WORTH_SECONDS = 10.0
_FIRST_LOOK_SECONDS = 10.0  # of nodes that joined: the first one goes first
_LOOK_SECONDS = 5.0
_PAUSE_SECONDS = 1.0  # after a death; twice as long after each
_MOST_DEATHS = 3
_LONG_LIFE_SECONDS = 600.0  # what dies later than this does not die of its beginning
_LAST_WORDS_BYTES = 2000


def watching_command(place: Registration, settings: RunSettings) -> tuple[str, ...]:
    """The command that watches the job until this attempt at it is over."""
    words = ["follow", place.backend.uri, "--attempt", f"{place.node}/{place.number}"]
    words += ["--config", settings.file] if settings.file is not None else []
    return sonde_command(*words, *settings.asked.words, *settings.actions.words)


class Watching:
    """The watcher of one node: nothing until it is worth it, then one process at a time."""

    def __init__(
        self,
        place: Registration,
        command: Sequence[str],
        clock: Clock,
        on_death: Callable[[str], None],
    ) -> None:
        self._backend = place.backend
        self._clock = clock
        self._process = SideProcess(command, clock)
        self._leasing = Leasing(place.backend, clock, place.node)
        self._on_death = on_death
        self._started_seconds = clock.seconds()
        self._due = self._started_seconds + (0.0 if place.is_creator else _FIRST_LOOK_SECONDS)
        self._errors: IO[bytes] | None = None
        self._born_seconds = 0.0
        self._deaths = 0
        self._is_off = False

    @property
    def cpu_seconds(self) -> float:
        """What it has cost so far."""
        return self._process.cpu_seconds

    def look(self) -> None:
        """Starts the watcher if it is time, worth it, and nobody watches."""
        if self._is_off or self._process.is_running():
            return
        if self._errors is not None:
            self._bury()
        if self._clock.seconds() >= self._due and not self._is_off and self._is_worth_it():
            self._due = self._clock.seconds() + max(_LOOK_SECONDS, self._backend.flush_seconds)
            if self._leasing.is_free():
                self._start()

    def finish(self, seconds: float) -> None:
        """Lets it look at what a job that is over has left, for at most that long.

        What is not done by then, `sonde check --record` does another time.
        """
        if self._is_off:
            return
        is_needed = self._has_workers() and not self._process.is_running()
        if is_needed and self._leasing.is_free():
            self._start()
        self._end(seconds)

    def switch_off(self) -> None:
        """No watcher; what runs is ended at once."""
        self._is_off = True
        self._end(0.0)

    def _end(self, seconds: float) -> None:
        if not self._process.finish(seconds):  # killed at the deadline, and its lease with it
            self._leasing.release_dead()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> None:
        self._errors = _nameless_file()
        self._born_seconds = self._clock.seconds()
        self._process.start(self._errors)

    def _is_worth_it(self) -> bool:
        is_long = self._clock.seconds() - self._started_seconds >= _WORTH_SECONDS
        return is_long or self._has_workers()

    def _has_workers(self) -> bool:
        return bool(self._backend.folders(WORKERS))

    def _bury(self) -> None:
        """Takes note of how the last one ended; after some deaths there is no next one."""
        assert self._errors is not None
        words, self._errors = _last_words(self._errors), None
        if not self._process.code:
            return
        lived_seconds = self._clock.seconds() - self._born_seconds
        self._deaths = 1 if lived_seconds > _LONG_LIFE_SECONDS else self._deaths + 1
        self._due = self._clock.seconds() + _PAUSE_SECONDS * 2**self._deaths
        if self._deaths == _MOST_DEATHS:
            self._is_off = True
            ended = f"ended with {self._process.code}: {words or 'it said nothing'}"
            self._on_death(f"the watcher died {_MOST_DEATHS} times; the last one {ended}")


def _nameless_file() -> IO[bytes]:
    """A file in memory, where the system has such: no disk need be writable."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("sonde-watcher"), "w+b")
    return tempfile.TemporaryFile()


def _last_words(errors: IO[bytes]) -> str:
    """The last line of what a process has said."""
    with errors:
        errors.seek(max(0, errors.seek(0, 2) - _LAST_WORDS_BYTES))
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
