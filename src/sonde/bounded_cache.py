"""A least-recently-used cache with an upper bound, safe to share between threads."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from itertools import chain, islice
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

_MAX_VISITS = 1024  # objects inspected to measure a value; larger containers are sampled
_MAX_DEPTH = 8
_SCALARS = frozenset({int, float, bool, str, bytes, type(None)})


def bytes_of(value: object) -> int:
    """Return the memory that a value holds: arrays, tables, and containers and dataclasses of them.

    Other objects, such as readers, count without what they refer to: others share them. Large
    containers are extrapolated from a sample of their items.
    """
    return _bytes_of(value, _MAX_VISITS, _MAX_DEPTH, set())


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
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()  # with its size
        self._size = 0

    @property
    def size(self) -> int:
        """The total size of the cached values, as measured last."""
        return self._size

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Value | None:
        """Return the value of a key, or None if it is not cached."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value) -> None:
        """Store a value, evicting others to make room; a value above the limit is not stored."""
        size = self._size_of(value)
        with self._lock:
            self._put(key, value, size)

    def setdefault(self, key: Hashable, value: Value) -> Value:
        """Store a value unless the key is cached; return the cached value."""
        size = self._size_of(value)
        with self._lock:
            if key not in self._values:
                self._put(key, value, size)
            return self._values.get(key, (value, size))[0]

    def get_or_create(self, key: Hashable, create: Callable[[], Value]) -> Value:
        """Return the cached value of a key, or create it; two threads may both create it."""
        cached = self.get(key)
        if cached is None:
            cached = create()
            self.put(key, cached)
        return cached

    def measure(self, key: Hashable) -> None:
        """Measure a value that may have grown since it was stored, and evict others to make room.

        A value that has grown above the limit stays until another one is stored.
        """
        with self._lock:
            value, measured = self._values.get(key, (None, 0))
        if value is None:
            return
        size = self._size_of(value)
        with self._lock:
            if size != measured and self._values.get(key, (None, 0))[0] is value:
                self._remove(key)
                self._values[key] = (value, size)
                self._size += size
                self._evict()

    def discard(self, key: Hashable) -> None:
        """Remove a key if it is cached."""
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def _put(self, key: Hashable, value: Value, size: int) -> None:
        self._remove(key)
        if size <= self._limit:
            self._values[key] = (value, size)
            self._size += size
            self._evict()

    def _evict(self) -> None:
        while self._size > self._limit and len(self._values) > 1:
            self._remove(next(iter(self._values)))

    def _remove(self, key: Hashable) -> None:
        if key in self._values:
            self._size -= self._values.pop(key)[1]


def byte_cache(limit_bytes: int) -> BoundedCache[Any]:
    """Return a cache with a limit on the total bytes of its values."""
    return BoundedCache(limit_bytes, bytes_of)


def _bytes_of(value: Any, visits: int, depth: int, counted: set[int]) -> int:
    """Measure a value; `counted` are the arrays already included."""
    if type(value) in _SCALARS:
        return sys.getsizeof(value)
    if hasattr(value, "dtype"):
        base = getattr(value, "base", None)
        value = base if hasattr(base, "dtype") else value  # a view keeps all of it in memory
        if id(value) in counted:
            return 0
        counted.add(id(value))
    if hasattr(value, "get_total_buffer_size"):  # Arrow: includes what a slice does not show
        return int(value.get_total_buffer_size())
    reported = int(getattr(value, "nbytes", 0))
    if reported and not getattr(getattr(value, "dtype", None), "hasobject", False):
        return reported
    size = reported or sys.getsizeof(value, 0)
    length, items = _sample(value, max(1, visits)) if depth else (0, ())
    if not items:
        return size
    share = visits // len(items)
    total = sum(_bytes_of(item, share, depth - 1, counted) for item in items)
    return size + total * length // len(items)


def _sample(value: Any, max_items: int) -> tuple[int, Sequence[Any]]:
    """The number of items of a container or dataclass, and up to `max_items` of them."""
    if isinstance(value, dict):
        pairs = chain.from_iterable(zip(value.keys(), value.values(), strict=False))
        return 2 * len(value), tuple(islice(pairs, max_items))
    if isinstance(value, set | frozenset):
        return len(value), tuple(islice(value, max_items))
    items: Any = ()
    if isinstance(value, list | tuple):
        items = value
    elif hasattr(value, "dtype"):
        items = value.ravel()
    elif hasattr(value, "__dict__") and hasattr(type(value), "__dataclass_fields__"):
        items = tuple(vars(value).values())  # includes properties computed on first use
    elif hasattr(type(value), "__dataclass_fields__"):
        items = tuple(getattr(value, name, None) for name in type(value).__dataclass_fields__)
    length = len(items)
    count = min(length, max_items)
    return length, tuple(items[index * length // count] for index in range(count))
