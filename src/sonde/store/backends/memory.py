"""A store in memory, for tests: `memory://name`."""

import threading
from collections.abc import Iterable

from sonde.clock import SystemClock
from sonde.errors import KeyMissingError
from sonde.store.backends._backend import Backend, Entry


class Memory(Backend):
    """A dictionary; stores with the same name in a process are shared."""

    flush_seconds = 2.0
    poll_seconds = 0.01
    _stores: dict[str, dict[str, tuple[bytes, int]]] = {}  # noqa: RUF012 — shared on purpose
    _lock = threading.RLock()

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._keys = self._stores.setdefault(uri.rstrip("/"), {})

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        with self._lock:
            if key not in self._keys:
                raise KeyMissingError(f"{key} does not exist in {self.uri}")
            return self._keys[key][0][start:end]

    def write(self, key: str, data: bytes) -> None:
        with self._lock:
            self._keys[key] = (bytes(data), SystemClock().now_ns())

    def create(self, key: str, data: bytes) -> bool:
        with self._lock:
            if key in self._keys:
                return False
            self.write(key, data)
            return True

    def append(self, key: str, offset: int, data: bytes) -> None:
        with self._lock:
            so_far = self._keys.get(key, (b"", 0))[0]
            if len(so_far) < offset:
                raise KeyMissingError(f"{key} no longer exists in {self.uri}")
            self.write(key, so_far[:offset] + data + so_far[offset + len(data) :])

    def entries(self, folder: str) -> list[Entry]:
        prefix = f"{folder}/" if folder else ""
        with self._lock:
            return [
                Entry(key, len(data), modified_ns)
                for key, (data, modified_ns) in sorted(self._keys.items())
                if key.startswith(prefix)
            ]

    def folders(self, folder: str) -> list[str]:
        skip = len(folder) + 1 if folder else 0
        insides = (entry.key[skip:] for entry in self.entries(folder))
        return sorted({inside.partition("/")[0] for inside in insides if "/" in inside})

    def delete(self, keys: Iterable[str]) -> None:
        with self._lock:
            for key in keys:
                self._keys.pop(key, None)
