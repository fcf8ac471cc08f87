"""Send recorded data to an object store.

Writing to an object store can be slow and needs a library that the workers' environment may lack.
So all processes write to a local folder, the spool, and the launcher sends it: growing files are
appended, rewritten files are sent again, and complete files are deleted locally once sent. Requests
to workers are passed on through the spool, too. If the launcher is killed, another process
continues (`spool_takeover.py`).
"""

import sys
import threading

from sonde.agent import spool_standby as standby
from sonde.agent.registration import Registration
from sonde.bounded_calls import call_within
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

_CHUNK_BYTES = 8 * 1024 * 1024
_FAST_SECONDS = 30.0
_STANDBY_END_SECONDS = 1.0
_ENDLESS = 1 << 63  # size of a file that is gone from the target because it was sealed
_FINAL_SUFFIXES = (".safetensors", TRACE_SUFFIX)  # written once, large


def standby_process(spool: Spool, clock: Clock) -> SideProcess:
    """Return a process that sends the spool when no other process does."""
    words = (sys.executable, "-I", "-S", standby.__file__, str(spool.lock_path))
    return SideProcess((*words, *sonde_command("send", str(spool.folder), "--quiet")), clock)


def relay_to(registration: Registration, run_id: str, clock: Clock) -> "Relay | None":
    """Create a relay for an object store; None for a folder, or if it cannot be created."""
    target = registration.backend
    scheme = target.uri.partition("://")[0] if "://" in target.uri else "file"
    if scheme == "file":
        return None
    facts = SpoolFacts(
        target.uri, registration.node, registration.number, run_id, registration.is_creator
    )
    return Guard().call("relay", lambda: Relay(Spool.create(facts), target, clock), None)


class Relay:
    """Sends the spool to the job's folder in the store."""

    def __init__(self, spool: Spool, target: Backend, clock: Clock) -> None:
        self.spool = spool
        self.source = spool.source
        self._target = target
        self._clock = clock
        self._sent: dict[str, tuple[int, int]] = {}  # by key: sent size and modification time
        self._is_progress_known = True  # whether `_sent` matches the target
        self._fast_until = 0.0  # send more often until then: a reply is expected
        self._sending = threading.Lock()
        self._over = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sonde-relay", daemon=True)
        self._standby: SideProcess | None = None
        self.trouble: str | None = None  # why sending failed

    def start(self) -> None:
        """Start sending in the background."""
        self._thread.start()

    def start_standby(self) -> None:
        """Start the process that takes over if this one is killed."""
        self._standby = standby_process(self.spool, self._clock)
        self._standby.start()

    def finish(self, seconds: float, *, keep: bool = False) -> bool:
        """Send the rest, up to a timeout; return whether everything was sent.

        Args:
            seconds: The timeout; call again to wait longer.
            keep: Whether other processes may still write. If not, the folder is removed once
                everything is sent; otherwise another process continues.
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
        """Send immediately."""
        self._wake.set()

    def deliver(self, seconds: float) -> bool:
        """Send current data, up to a timeout; return whether it was sent."""
        return call_within(seconds, "the relay", self.send, default=False)

    def forward(self, request: Request) -> None:
        """Pass a request to the workers; their replies are sent soon."""
        key = layout.request_key(request.id)
        content = encode_facts(request, key)
        self.source.write(key, content)
        self._fast_until = self._clock.seconds() + _FAST_SECONDS

    def continue_from_target(self) -> None:
        """Continue where another process stopped, according to the target.

        Raises:
            StoreError: The target cannot be read.
        """
        if not self._is_progress_known:
            sizes = sizes_in(self._target, self.source)
            growing = {key: size for key, size in sizes.items() if key.endswith(LIVE_SUFFIX)}
            self._sent = {key: (size, 0) for key, size in growing.items()}
            self._is_progress_known = True

    def forget_progress(self) -> None:
        """Read the progress from the target before sending again."""
        self._is_progress_known = False

    def send(self) -> bool:
        """Send new data, oldest first; return whether everything was sent."""
        with self._sending:
            return self._send()

    def _send(self) -> bool:
        entries = sorted(self._entries(), key=lambda entry: entry.modified_ns)
        try:
            for entry in entries:
                if self._sent.get(entry.key) != (entry.size, entry.modified_ns):
                    self._send_file(entry)
        except StoreError as error:
            self.trouble = str(error)
            return False
        try:
            self.source.delete(self._deletable(self._completed([entry.key for entry in entries])))
        except StoreError as error:
            self.trouble = str(error)
            return False
        self.trouble = None
        return True

    def _deletable(self, keys: list[str]) -> list[str]:
        """Return the keys that may be deleted locally.

        A delayed write of a killed launcher can replace a longer file, so sizes of appended files
        are compared, and missing data is sent again.
        """
        folders = {key.rpartition("/")[0] for key in keys if key.endswith(LIVE_SUFFIX)}
        sizes = {entry.key: entry.size for path in folders for entry in self._target.entries(path)}
        short = {key for key in keys if sizes.get(key, _ENDLESS) < self._sent[key][0]}
        self._sent |= {key: (sizes[key], 0) for key in short}
        return [key for key in keys if key not in short]

    def _entries(self) -> list[Entry]:
        """Return all files to send; requests come from the target."""
        requests = f"{layout.REQUESTS}/"
        return [entry for entry in self.source.entries("") if not entry.key.startswith(requests)]

    def _run(self) -> None:
        guard = Guard()
        due = self._clock.seconds() + self._target.flush_seconds
        while not self._over.is_set():
            is_awake = self._clock.wait(self._wake, self._target.poll_seconds)
            self._wake.clear()
            now = self._clock.seconds()
            if is_awake or now >= due or now < self._fast_until:
                due = now + self._target.flush_seconds
                guard.attempt("relay", self.send, default=False)
        # the last data, with one retry
        if not guard.attempt("relay", self.send, default=False):
            guard.attempt("relay", self.send, default=False)

    def _send_file(self, entry: Entry) -> None:
        key, size = entry.key, entry.size
        try:
            if key.endswith(LIVE_SUFFIX):
                size = self._append(key, self._sent.get(key, (0, 0))[0])
            else:
                self._target.write(key, self.source.read(key))
        except KeyMissingError:
            if self.source.exists(key):  # it is missing in the target
                raise
            return
        self._sent[key] = (size, entry.modified_ns)

    def _append(self, key: str, offset: int) -> int:
        """Append new data; return the sent size."""
        while data := self.source.read(key, offset, offset + _CHUNK_BYTES):
            self._target.append(key, offset, data)
            offset += len(data)
            self._sent[key] = (offset, 0)
        return offset

    def _completed(self, keys: list[str]) -> list[str]:
        """Return files that will not change: complete files, and segments with a successor."""
        last: dict[tuple[str, str], str] = {}
        for key in sorted(keys):
            if (writer := _writer_of(key)) is not None:
                last[writer] = key
        return [
            key
            for key in keys
            if key.endswith(_FINAL_SUFFIXES)
            or ((writer := _writer_of(key)) is not None and last[writer] != key)
        ]


def _writer_of(key: str) -> tuple[str, str] | None:
    """Return the folder and the writer of a growing segment."""
    folder, _, file = key.rpartition("/")
    name = SegmentName.parse(file.removesuffix(LIVE_SUFFIX))
    return (folder, name.writer) if name and key.endswith(LIVE_SUFFIX) else None
