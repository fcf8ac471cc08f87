"""The spool: a folder of this machine that holds what is on its way to an object store.

Beside the data lie a document that names the job and a lock: whoever holds it sends, nobody else.
The kernel releases the lock when its holder dies, however that came.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sonde.clock import Clock
from sonde.errors import StoreError
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import LIVE_SUFFIX, REQUESTS

_PREFIX = "sonde-workers-"
_FACTS = "spool.json"
_LOCK = "lock"
_DATA = "job"
_RETRY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class SpoolFacts:
    """Which job a spool belongs to."""

    job_uri: str
    node: str
    number: int  # of the attempt
    run_id: str
    is_creator: bool = True  # whether this node made the job, and lists its files at the end


class Spool:
    """One folder; its lock is held by at most one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = open_backend(str(folder / _DATA))
        self.lock_path = folder / _LOCK
        self._lock: int | None = None

    @classmethod
    def create(cls, facts: SpoolFacts) -> "Spool":
        """A new one, locked.

        Raises:
            OSError: No temporary folder can be written.
        """
        spool = cls(Path(tempfile.mkdtemp(prefix=_PREFIX)))
        try:
            spool._lock = os.open(spool.lock_path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(spool._lock, fcntl.LOCK_EX)
            open_backend(str(spool.folder)).write(_FACTS, encode_facts(facts, _FACTS))
        except (OSError, StoreError):
            spool.remove()
            raise
        return spool

    @cached_property
    def facts(self) -> SpoolFacts:
        """Which job it belongs to.

        Raises:
            StoreError: It is no spool, or its document is damaged.
        """
        data = open_backend(str(self.folder)).read(_FACTS)
        return decode_facts(SpoolFacts, data, _FACTS)

    def take_lock(self, clock: Clock, seconds: float = 0.0) -> bool:
        """Whether this process may send; tries for that long."""
        try:
            lock = os.open(self.lock_path, os.O_RDWR)
        except OSError:  # all has arrived, and the folder is gone
            return False
        deadline, never = clock.seconds() + seconds, threading.Event()
        while not _is_locked_by(lock):
            if clock.seconds() >= deadline:
                os.close(lock)
                return False
            clock.wait(never, _RETRY_SECONDS)
        if not os.fstat(lock).st_nlink:  # removed meanwhile
            os.close(lock)
            return False
        self.adopt_lock(lock)
        return True

    def adopt_lock(self, descriptor: int) -> None:
        """Uses a lock that was taken by the program that became this one."""
        os.set_inheritable(descriptor, False)
        self._lock = descriptor

    def release(self) -> None:
        """Lets another process send."""
        if self._lock is not None:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = None

    def is_being_sent(self) -> bool:
        """Whether a process holds the lock."""
        try:
            lock = os.open(self.lock_path, os.O_RDWR)
        except OSError:
            return False
        try:
            return not _is_locked_by(lock, fcntl.LOCK_SH)
        finally:
            os.close(lock)

    def remove(self) -> None:
        """Removes the folder, and lets everybody go who waits for the lock."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.release()


def _is_locked_by(lock: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def local_spools() -> Iterator[Spool]:
    """The spools of this user in the temporary folder of this machine."""
    with contextlib.suppress(OSError):  # there is none, or it cannot be read
        for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
            status = folder.stat(follow_symlinks=False)
            if status.st_uid == os.geteuid() and not folder.is_symlink():
                yield Spool(folder)


def spools_at(folder: str, job_uri: str) -> list[Spool]:
    """The spool in a folder, if it is on this machine and of that job."""
    spool = Spool(Path(folder))
    try:
        return [spool] if spool.facts.job_uri == job_uri else []
    except StoreError:
        return []


@dataclass(frozen=True, slots=True)
class Unsent:
    """What of a spool is not in the store."""

    files: int
    bytes: int


def find_unsent(source: Backend, target: Backend) -> Unsent:
    """Compares what lies here with what has arrived there, by size."""
    arrived = sizes_in(target, source)
    sizes = [
        entry.size - (arrived.get(entry.key, 0) if entry.key.endswith(LIVE_SUFFIX) else 0)
        for entry in source.entries("")
        if not entry.key.startswith(f"{REQUESTS}/") and _is_missing(entry.size, entry.key, arrived)
    ]
    return Unsent(len(sizes), sum(sizes))


def sizes_in(target: Backend, source: Backend) -> dict[str, int]:
    """How large the keys are over there, in all folders that there are here."""
    folders = {"/".join(entry.key.split("/")[:-1][:2]) for entry in source.entries("")}
    folders = {""} if "" in folders else folders
    return {entry.key: entry.size for folder in sorted(folders) for entry in target.entries(folder)}


def _is_missing(size: int, key: str, arrived: dict[str, int]) -> bool:
    if key not in arrived:
        return True
    return arrived[key] < size if key.endswith(LIVE_SUFFIX) else arrived[key] != size
