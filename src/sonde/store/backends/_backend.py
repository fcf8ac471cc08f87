"""What a place that keeps jobs must be able to do.

Keys are relative paths with slashes. A backend knows bytes and keys, nothing of what they mean.
Failures are StoreError, whatever the library beneath raised.
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
    """A key whose parts are read one by one."""

    size: int

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a part; fewer where the key ends earlier."""


class BytesView:
    """A view of bytes that were read already."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a part."""
        return self._data[start:end]


class Backend(ABC):
    """A flat space of keys and bytes under one root."""

    uri: str
    flush_seconds: float  # how often a live writer should append
    poll_seconds: float  # how often a reader should look for news

    @abstractmethod
    def __init__(self, uri: str) -> None:
        """Remembers the place; nothing is made or read yet."""

    @cached_property
    def ledger(self) -> DamageLedger:
        """What readers of this place found missing or damaged."""
        return DamageLedger()

    @abstractmethod
    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of a key, or of a part of it; fewer where it ends earlier.

        Raises:
            KeyMissingError: There is no such key.
        """

    @abstractmethod
    def write(self, key: str, data: bytes) -> None:
        """Stores the whole key, at once or not at all; replaces what was there."""

    def write_parts(self, key: str, parts: Sequence[bytes | memoryview]) -> None:
        """Like `write`, of many parts after each other, which may be large."""
        self.write(key, b"".join(parts))

    @abstractmethod
    def create(self, key: str, data: bytes) -> bool:
        """Like `write`, but leaves an existing key alone and returns False."""

    @abstractmethod
    def append(self, key: str, offset: int, data: bytes) -> None:
        """Adds to the end of a growing key; the same call made again changes nothing.

        Args:
            key: The growing key; it begins with offset 0. Only keys that end in `.frames` grow:
                a place that cannot append keeps them in another form than the rest.
            offset: How many bytes the writer has appended before.
            data: What to add.

        Raises:
            KeyMissingError: Bytes were appended before, and the key is gone.
        """

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """All keys in a folder and below it, sorted; the empty folder is the root."""

    @abstractmethod
    def folders(self, folder: str) -> list[str]:
        """The names of the folders directly inside a folder, sorted."""

    @abstractmethod
    def delete(self, keys: Iterable[str]) -> None:
        """Removes keys; one that is not there is no error."""

    def erase(self, is_ours: Callable[[str], bool] = lambda _key: True) -> list[str]:
        """Removes keys, what writers left half-written, and the place itself if nothing remains.

        Args:
            is_ours: Which keys to remove, all by default; asked for folders too, whose names end
                in a slash. What it does not know is left alone.

        Returns:
            What was left.
        """
        keys = [entry.key for entry in self.entries("")]
        self.delete([key for key in keys if is_ours(key)])
        return [key for key in keys if not is_ours(key)]

    def remove_if_empty(self) -> None:
        """Removes the place itself if nothing is in it."""

    def is_link(self) -> bool:
        """Whether the place is only a link to another one."""
        return False

    def links(self) -> list[str]:
        """Keys in whose place there is only a link to something else, sorted."""
        return []

    def is_empty(self) -> bool:
        """Whether nothing is here, apart from what writers are about to write."""
        return not self.entries("")

    def sweep(self, now_ns: int) -> None:
        """Removes what writers left half-written when they died, once it is old enough."""

    def sweep_of(self, folder: str, is_gone: Callable[[int], bool]) -> None:
        """Removes what processes left half-written in a folder and below, if they are gone.

        Args:
            folder: The folder; empty for everything.
            is_gone: Whether a process of this number writes no more.
        """

    def view(self, key: str) -> View:
        """A key that never changes again, to read parts of it.

        Raises:
            KeyMissingError: There is no such key.
        """
        return BytesView(self.read(key))

    def free_bytes(self) -> int | None:
        """How much room is left, where there is such a limit."""
        return None

    def size_bytes(self) -> int | None:
        """How large the place is, where there is such a limit."""
        return None

    def exists(self, key: str) -> bool:
        """Whether the key is there."""
        return any(entry.key == key for entry in self.entries(key.rpartition("/")[0]))
