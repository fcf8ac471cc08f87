"""Carries what workers write to a store that they cannot reach themselves.

Writing to an object store needs a library that the workers' environment may not have. So they write
into a folder of this machine, and the launcher carries it on: what grows is appended as it grows,
what is rewritten is written again, and what cannot change any more makes room once it has arrived.
Requests that workers answer come to them through the same folder.
"""

import shutil
import tempfile
import threading
from pathlib import Path

from sonde.clock import Clock
from sonde.errors import KeyMissingError, StoreError
from sonde.guard import Guard
from sonde.records.request import Request
from sonde.store import layout
from sonde.store.backends import Backend, Entry, open_backend
from sonde.store.facts import encode_facts
from sonde.store.layout import LIVE_SUFFIX, TRACE_SUFFIX, SegmentName

_MOST_AT_ONCE_BYTES = 8 * 1024 * 1024
_HURRY_SECONDS = 30.0
_FINAL_SUFFIXES = (".safetensors", TRACE_SUFFIX)  # written once, large


def relay_to(target: Backend, clock: Clock) -> "Relay | None":
    """A relay, where the store is not simply a folder; None too where none can be set up."""
    scheme = target.uri.partition("://")[0] if "://" in target.uri else "file"
    if scheme == "file":
        return None
    return Guard().call("the relay", lambda: Relay(target, clock), None)


class Relay:
    """From the workers' folder to the job's place in the store."""

    def __init__(self, target: Backend, clock: Clock) -> None:
        self._target = target
        self._clock = clock
        self._folder = Path(tempfile.mkdtemp(prefix="sonde-workers-"))
        self.source = open_backend(str(self._folder))
        self._carried: dict[str, tuple[int, int]] = {}  # by key: size and time
        self._hurry_until = 0.0  # somebody waits for an answer
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sonde-relay", daemon=True)
        self.trouble: str | None = None  # why not everything has arrived

    def start(self) -> None:
        """Begins to carry in the background."""
        self._thread.start()

    def finish(self, seconds: float) -> bool:
        """Carries what is left, for at most that long; whether all has arrived.

        It may be called again to wait longer; once all has arrived the folder is gone.
        """
        self._over.set()
        self._thread.join(max(0.0, seconds))
        if self._thread.is_alive() or self.trouble is not None:
            return False
        shutil.rmtree(self._folder, ignore_errors=True)
        return True

    def hand_on(self, request: Request) -> None:
        """Puts a request where the workers look for it; what they answer is carried soon."""
        key = layout.request_key(request.id)
        content = encode_facts(request, key)
        self.source.write(key, content)
        for entry in self.source.entries(layout.REQUESTS):
            if entry.key == key:  # it comes from where it would be carried to
                self._carried[key] = (entry.size, entry.modified_ns)
        self._hurry_until = self._clock.seconds() + _HURRY_SECONDS

    def carry(self) -> bool:
        """Carries all that is new, older things first; False once something did not arrive."""
        entries = sorted(self.source.entries(""), key=lambda entry: entry.modified_ns)
        try:
            for entry in entries:
                if self._carried.get(entry.key) != (entry.size, entry.modified_ns):
                    self._carry_one(entry)
        except StoreError as error:
            self.trouble = str(error)
            return False
        self.source.delete(self._finished([entry.key for entry in entries]))
        self.trouble = None
        return True

    def _run(self) -> None:
        guard = Guard()
        due = self._clock.seconds() + self._target.flush_seconds
        while not self._clock.wait(self._over, self._target.poll_seconds):
            now = self._clock.seconds()
            if now >= due or now < self._hurry_until:
                due = now + self._target.flush_seconds
                guard.attempt("the relay", self.carry, default=False)
        # whatever they wrote until their end, and once more if the store hesitates
        if not guard.attempt("the relay", self.carry, default=False):
            guard.attempt("the relay", self.carry, default=False)

    def _carry_one(self, entry: Entry) -> None:
        key, size = entry.key, entry.size
        try:
            if key.endswith(LIVE_SUFFIX):
                size = self._append(key, self._carried.get(key, (0, 0))[0])
            else:
                self._target.write(key, self.source.read(key))
        except KeyMissingError:
            if self.source.exists(key):  # so it is gone over there, and there is no way back
                raise
            return
        self._carried[key] = (size, entry.modified_ns)

    def _append(self, key: str, offset: int) -> int:
        """Adds what is new; returns how far it has come."""
        while data := self.source.read(key, offset, offset + _MOST_AT_ONCE_BYTES):
            self._target.append(key, offset, data)
            offset += len(data)
            self._carried[key] = (offset, 0)
        return offset

    def _finished(self, keys: list[str]) -> list[str]:
        """What nobody will write to again: whole files, and segments that have a successor."""
        last: dict[tuple[str, str], str] = {}
        for key in sorted(keys):
            if (place := _writer_of(key)) is not None:
                last[place] = key
        return [
            key
            for key in keys
            if key.endswith(_FINAL_SUFFIXES)
            or ((place := _writer_of(key)) is not None and last[place] != key)
        ]


def _writer_of(key: str) -> tuple[str, str] | None:
    """The folder and the writer of a growing segment."""
    folder, _, file = key.rpartition("/")
    name = SegmentName.parse(file.removesuffix(LIVE_SUFFIX))
    return (folder, name.writer) if name and key.endswith(LIVE_SUFFIX) else None
