"""What was decoded from sealed segments, kept while it is asked for: so many bytes and no more."""

import threading
from collections import OrderedDict
from typing import Any, Protocol


class Measured(Protocol):
    """Anything that knows how many bytes it takes: an array, a roll-up."""

    @property
    def nbytes(self) -> int:
        """How many bytes."""


class Decoded:
    """Things by their keys; what nobody has asked for the longest makes room for others.

    Several threads may share it.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._things: OrderedDict[object, Measured] = OrderedDict()
        self._nbytes = 0

    @property
    def nbytes(self) -> int:
        """How much it holds just now."""
        return self._nbytes

    def find(self, key: object) -> Any:
        """What was kept under a key; None where it is not there, or no more."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
            return self._things.get(key)

    def keep(self, key: object, thing: Measured) -> None:
        """Puts something in, and drops what has to go for it; what is too large is not kept."""
        with self._lock:
            if key in self._things:
                self._nbytes -= self._things.pop(key).nbytes
            if thing.nbytes > self._most_bytes:
                return
            self._things[key] = thing
            self._nbytes += thing.nbytes
            while self._nbytes > self._most_bytes:
                self._nbytes -= self._things.popitem(last=False)[1].nbytes
