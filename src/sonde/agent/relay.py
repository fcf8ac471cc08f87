"""Carries what workers and the launcher write to an object store.

Writing to an object store needs a library that the workers' environment may not have, and may take
long. So everybody writes into a folder of this machine, the spool, and the launcher carries it on:
what grows is appended as it grows, what is rewritten is written again, and what cannot change any
more makes room once it has arrived. Requests that workers answer come to them through the same
folder. If the launcher is killed, another process goes on (`take_over.py`).
"""

import sys
import threading

from sonde.agent import spool_standby as standby
from sonde.agent.registration import Registration
from sonde.bounded_calls import within
from sonde.clock import Clock
from sonde.errors import KeyMissingError, StoreError
from sonde.guard import Guard
from sonde.records.request import Request
from sonde.side_process import SideProcess, sonde_command
from sonde.store import layout
from sonde.store.backends import Backend, Entry
from sonde.store.facts import encode_facts
from sonde.store.layout import LIVE_SUFFIX, TRACE_SUFFIX, SegmentName
from sonde.store.spool import Spool, SpoolFacts, sizes_in

_MOST_AT_ONCE_BYTES = 8 * 1024 * 1024
_HURRY_SECONDS = 30.0
_STANDBY_END_SECONDS = 1.0
_ENDLESS = 1 << 63  # of what is not over there any more: it was sealed
_FINAL_SUFFIXES = (".safetensors", TRACE_SUFFIX)  # written once, large


def standby_process(spool: Spool, clock: Clock) -> SideProcess:
    """A process that sends the spool as soon as nobody else does."""
    words = (sys.executable, "-I", "-S", standby.__file__, str(spool.lock_path))
    return SideProcess((*words, *sonde_command("send", str(spool.folder), "--quiet")), clock)


def relay_to(place: Registration, run_id: str, clock: Clock) -> "Relay | None":
    """A relay, where the store is not simply a folder; None too where none can be set up."""
    target = place.backend
    scheme = target.uri.partition("://")[0] if "://" in target.uri else "file"
    if scheme == "file":
        return None
    facts = SpoolFacts(target.uri, place.node, place.number, run_id, place.is_creator)
    return Guard().call("the relay", lambda: Relay(Spool.create(facts), target, clock), None)


class Relay:
    """From the spool to the job's place in the store."""

    def __init__(self, spool: Spool, target: Backend, clock: Clock) -> None:
        self.spool = spool
        self.source = spool.source
        self._target = target
        self._clock = clock
        self._carried: dict[str, tuple[int, int]] = {}  # by key: size and time
        self._is_progress_known = True  # whether `_carried` holds all that the target has
        self._hurry_until = 0.0  # somebody waits for an answer
        self._carrying = threading.Lock()
        self._over = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sonde-relay", daemon=True)
        self._standby: SideProcess | None = None
        self.trouble: str | None = None  # why not everything has arrived

    def start(self) -> None:
        """Begins to carry in the background."""
        self._thread.start()

    def start_standby(self) -> None:
        """Starts the process that goes on if this one is killed."""
        self._standby = standby_process(self.spool, self._clock)
        self._standby.start()

    def finish(self, seconds: float, *, keep: bool = False) -> bool:
        """Carries what is left, for at most that long; whether all has arrived.

        Args:
            seconds: The most it may take; it may be called again to wait longer.
            keep: Whether others may still write. If not, once all has arrived the folder is gone;
                else another process goes on, now or when this one ends.
        """
        self._over.set()
        self._wake.set()
        self._thread.join(max(0.0, seconds))
        if self._thread.is_alive():
            return False
        has_arrived = self.trouble is None
        if keep or not has_arrived:
            self.spool.release()
            return has_arrived
        self.spool.remove()
        if self._standby is not None:
            self._standby.finish(_STANDBY_END_SECONDS)
        return True

    def wake(self) -> None:
        """Has the thread carry at once."""
        self._wake.set()

    def deliver(self, seconds: float) -> bool:
        """Carries what there is now, for at most that long; whether it has arrived."""
        return within(seconds, "the relay", self.carry, default=False)

    def hand_on(self, request: Request) -> None:
        """Puts a request where the workers look for it; what they answer is carried soon."""
        key = layout.request_key(request.id)
        content = encode_facts(request, key)
        self.source.write(key, content)
        self._hurry_until = self._clock.seconds() + _HURRY_SECONDS

    def continue_from_target(self) -> None:
        """Goes on where another process has stopped: the target knows how far that came.

        Raises:
            StoreError: The target cannot be read.
        """
        if not self._is_progress_known:
            sizes = sizes_in(self._target, self.source)
            growing = {key: size for key, size in sizes.items() if key.endswith(LIVE_SUFFIX)}
            self._carried = {key: (size, 0) for key, size in growing.items()}
            self._is_progress_known = True

    def forget_progress(self) -> None:
        """Asks the target again before the next carrying."""
        self._is_progress_known = False

    def carry(self) -> bool:
        """Carries all that is new, older things first; False once something did not arrive."""
        with self._carrying:
            return self._carry()

    def _carry(self) -> bool:
        entries = sorted(self._entries(), key=lambda entry: entry.modified_ns)
        try:
            for entry in entries:
                if self._carried.get(entry.key) != (entry.size, entry.modified_ns):
                    self._carry_one(entry)
        except StoreError as error:
            self.trouble = str(error)
            return False
        try:
            self.source.delete(self._arrived(self._finished([entry.key for entry in entries])))
        except StoreError as error:
            self.trouble = str(error)
            return False
        self.trouble = None
        return True

    def _arrived(self, keys: list[str]) -> list[str]:
        """Those of the keys that may be deleted here.

        A part that a killed launcher had under way can replace a longer one of ours: of what grew
        the size is compared, and the rest is sent again.
        """
        folders = {key.rpartition("/")[0] for key in keys if key.endswith(LIVE_SUFFIX)}
        sizes = {one.key: one.size for path in folders for one in self._target.entries(path)}
        short = {key for key in keys if sizes.get(key, _ENDLESS) < self._carried[key][0]}
        self._carried |= {key: (sizes[key], 0) for key in short}
        return [key for key in keys if key not in short]

    def _entries(self) -> list[Entry]:
        """All that is to be carried; requests come from where that goes."""
        requests = f"{layout.REQUESTS}/"
        return [one for one in self.source.entries("") if not one.key.startswith(requests)]

    def _run(self) -> None:
        guard = Guard()
        due = self._clock.seconds() + self._target.flush_seconds
        while not self._over.is_set():
            is_awake = self._clock.wait(self._wake, self._target.poll_seconds)
            self._wake.clear()
            now = self._clock.seconds()
            if is_awake or now >= due or now < self._hurry_until:
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
