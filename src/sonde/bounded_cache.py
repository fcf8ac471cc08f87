"""A least-recently-used cache with an upper bound, safe to share between threads."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

_DEFAULT_BYTES = 4096  # assumed size of a value that does not report it


def bytes_of(value: object) -> int:
    """Return the reported size of a value, or a default."""
    return int(getattr(value, "nbytes", 0)) or _DEFAULT_BYTES


class BoundedCache(Generic[Value]):
    """Values by key; the least recently used ones are evicted when the bound is exceeded."""

    def __init__(self, limit: int, size_of: Callable[[Value], int] | None = None) -> None:
        """Create an empty cache.

        Args:
            limit: The maximum total size.
            size_of: Returns the size of a value; by default, every value counts as 1.
        """
        self._limit = limit
        self._size_of = size_of or (lambda _value: 1)
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """The total size of the cached values."""
        return self._size

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Value | None:
        """Return the value of a key, or None if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Store a value, evicting others to make room; a value above the limit is not stored."""
        with self._lock:
            self._put(key, value)

    def setdefault(self, key: Hashable, value: Value) -> Value:
        """Store a value unless the key is cached; return the cached value."""
        with self._lock:
            if key not in self._values:
                self._put(key, value)
            return self._values.get(key, value)

    def get_or_create(self, key: Hashable, create: Callable[[], Value]) -> Value:
        """Return the cached value of a key, or create it; two threads may both create it."""
        cached = self.get(key)
        if cached is None:
            cached = create()
            self.put(key, cached)
        return cached

    def discard(self, key: Hashable) -> None:
        """Remove a key if it is cached."""
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def _put(self, key: Hashable, value: Value) -> None:
        self._remove(key)
        size = self._size_of(value)
        if size > self._limit:
            return
        self._values[key] = value
        self._size += size
        while self._size > self._limit:
            self._remove(next(iter(self._values)))

    def _remove(self, key: Hashable) -> None:
        if key in self._values:
            self._size -= self._size_of(self._values.pop(key))


def byte_cache(limit_bytes: int) -> BoundedCache[Any]:
    """Return a cache with a limit on the total bytes of its values."""
    return BoundedCache(limit_bytes, bytes_of)
