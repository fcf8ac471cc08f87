"""The spool: a local folder with data to be sent to an object store.

It also holds a document that names the job, and a lock: only the process that holds the lock
sends data. The kernel releases the lock when its holder dies.
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
    """The job of a spool."""

    job_uri: str
    node: str
    number: int  # of the attempt
    run_id: str
    is_creator: bool = True  # whether this node created the job and lists its files at the end


class Spool:
    """A spool folder with its lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = open_backend(str(folder / _DATA))
        self.lock_path = folder / _LOCK
        self._lock: int | None = None

    @classmethod
    def create(cls, facts: SpoolFacts) -> "Spool":
        """Create a locked spool.

        Raises:
            OSError: The temporary folder is not writable.
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
        """The job of the spool.

        Raises:
            StoreError: The folder is not a spool, or its document is damaged.
        """
        data = open_backend(str(self.folder)).read(_FACTS)
        return decode_facts(SpoolFacts, data, _FACTS)

    def take_lock(self, clock: Clock, seconds: float = 0.0) -> bool:
        """Take the lock, waiting up to `seconds`; returns whether it was taken."""
        try:
            lock = os.open(self.lock_path, os.O_RDWR)
        except OSError:  # everything was sent and the folder removed
            return False
        deadline, never_set = clock.seconds() + seconds, threading.Event()
        while not _is_locked_by(lock):
            if clock.seconds() >= deadline:
                os.close(lock)
                return False
            clock.wait(never_set, _RETRY_SECONDS)
        if not os.fstat(lock).st_nlink:  # removed meanwhile
            os.close(lock)
            return False
        self.adopt_lock(lock)
        return True

    def adopt_lock(self, descriptor: int) -> None:
        """Use a lock inherited from the program that executed this one."""
        os.set_inheritable(descriptor, False)
        self._lock = descriptor

    def release(self) -> None:
        """Release the lock."""
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
        """Remove the folder and release the lock."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.release()


def _is_locked_by(lock: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def local_spools() -> Iterator[Spool]:
    """This user's spools in the temporary folder."""
    with contextlib.suppress(OSError):  # missing or unreadable folder
        for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
            status = folder.stat(follow_symlinks=False)
            if status.st_uid == os.geteuid() and not folder.is_symlink():
                yield Spool(folder)


def spools_at(folder: str, job_uri: str) -> list[Spool]:
    """The spool in a local folder, if it belongs to the job."""
    spool = Spool(Path(folder))
    try:
        return [spool] if spool.facts.job_uri == job_uri else []
    except StoreError:
        return []


@dataclass(frozen=True, slots=True)
class Unsent:
    """Files of a spool that are not in the store."""

    files: int
    bytes: int


def find_unsent(source: Backend, target: Backend) -> Unsent:
    """Compare the files of source and target by size."""
    sent_sizes = sizes_in(target, source)
    sizes = [
        entry.size - (sent_sizes.get(entry.key, 0) if entry.key.endswith(LIVE_SUFFIX) else 0)
        for entry in source.entries("")
        if not entry.key.startswith(f"{REQUESTS}/")
        and _is_missing(entry.size, entry.key, sent_sizes)
    ]
    return Unsent(len(sizes), sum(sizes))


def sizes_in(target: Backend, source: Backend) -> dict[str, int]:
    """The sizes of keys in the target, in all folders of the source."""
    folders = {"/".join(entry.key.split("/")[:-1][:2]) for entry in source.entries("")}
    folders = {""} if "" in folders else folders
    return {entry.key: entry.size for folder in sorted(folders) for entry in target.entries(folder)}


def _is_missing(size: int, key: str, sent_sizes: dict[str, int]) -> bool:
    if key not in sent_sizes:
        return True
    return sent_sizes[key] < size if key.endswith(LIVE_SUFFIX) else sent_sizes[key] != size
