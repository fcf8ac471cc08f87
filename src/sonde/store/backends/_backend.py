"""The interface of storage backends.

Keys are relative paths with slashes. A backend handles bytes and keys, not their meaning. All
failures are raised as StoreError.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from sonde.store.damage import DamageLedger


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored key."""

    key: str
    size: int
    modified_ns: int


class View(Protocol):
    """Random read access to one key."""

    size: int

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a range; fewer if the key ends earlier."""


class BytesView:
    """A view of bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a range."""
        return self._data[start:end]


class Backend(ABC):
    """A flat space of keys and bytes under one root."""

    uri: str
    flush_seconds: float  # how often a live writer should append
    poll_seconds: float  # how often a reader should poll

    @abstractmethod
    def __init__(self, uri: str) -> None:
        """Store the URI without any access."""

    @cached_property
    def ledger(self) -> DamageLedger:
        """Missing and damaged files found by readers."""
        return DamageLedger()

    @abstractmethod
    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of a key, or of a range of it; fewer if it ends earlier.

        Raises:
            KeyMissingError: The key does not exist.
        """

    @abstractmethod
    def write(self, key: str, data: bytes) -> None:
        """Write or replace a key atomically."""

    def write_parts(self, key: str, chunks: Sequence[bytes | memoryview]) -> None:
        """Like `write`, from several chunks, which may be large."""
        self.write(key, b"".join(chunks))

    @abstractmethod
    def create(self, key: str, data: bytes) -> bool:
        """Like `write`, but keep an existing key and return False."""

    @abstractmethod
    def append(self, key: str, offset: int, data: bytes) -> None:
        """Append to a growing key; repeating a call has no effect.

        Args:
            key: The growing key. Only keys that end in `.frames` can grow: backends that cannot
                append store them in chunks.
            offset: The number of bytes appended before.
            data: The bytes to append.

        Raises:
            KeyMissingError: The offset is not 0, and the key does not exist.
        """

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """All keys in a folder and below it, sorted; the empty folder is the root."""

    @abstractmethod
    def folders(self, folder: str) -> list[str]:
        """The names of the folders directly inside a folder, sorted."""

    @abstractmethod
    def delete(self, keys: Iterable[str]) -> None:
        """Delete keys; missing keys are ignored."""

    def erase(self, is_ours: Callable[[str], bool] = lambda _key: True) -> list[str]:
        """Delete keys, temporary files, and the folder itself if it is empty then.

        Args:
            is_ours: Which keys to delete, all by default; also called for folders, whose names
                end in a slash.

        Returns:
            The remaining keys.
        """
        keys = [entry.key for entry in self.entries("")]
        self.delete([key for key in keys if is_ours(key)])
        return [key for key in keys if not is_ours(key)]

    def remove_if_empty(self) -> None:
        """Remove the folder itself if it is empty."""

    def is_link(self) -> bool:
        """Whether the folder is a symbolic link."""
        return False

    def links(self) -> list[str]:
        """Keys that are symbolic links, sorted."""
        return []

    def is_empty(self) -> bool:
        """Whether there are no keys, apart from temporary files."""
        return not self.entries("")

    def sweep(self, now_ns: int) -> None:
        """Remove old temporary files of writers that died."""

    def sweep_of(self, folder: str, is_dead: Callable[[int], bool]) -> None:
        """Remove temporary files of dead processes in a folder and its subfolders.

        Args:
            folder: The folder; empty for all.
            is_dead: Whether the process with this PID is dead.
        """

    def view(self, key: str) -> View:
        """Random read access to a key that no longer changes.

        Raises:
            KeyMissingError: The key does not exist.
        """
        return BytesView(self.read(key))

    def free_bytes(self) -> int | None:
        """Free disk space; None if unlimited."""
        return None

    def size_bytes(self) -> int | None:
        """Size of the disk; None if unlimited."""
        return None

    def exists(self, key: str) -> bool:
        """Whether the key exists."""
        return any(entry.key == key for entry in self.entries(key.rpartition("/")[0]))
