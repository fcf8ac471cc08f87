"""Weak collections keyed by object identity.

Some modules compute their hash from attributes that do not exist yet during construction.
"""

import weakref
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


class IdentityMap(Generic[Item, Value]):
    """Maps objects to values by identity, without keeping the objects alive."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Item], Value]] = {}

    def __setitem__(self, item: Item, value: Value) -> None:
        key, entries = id(item), self._entries

        def forget(reference: "weakref.ref[Item]") -> None:
            if key in entries and entries[key][0] is reference:
                del entries[key]

        entries[key] = (weakref.ref(item, forget), value)

    def get(self, item: Item) -> Value | None:
        """The value of an object, or None."""
        entry = self._entries.get(id(item))
        return entry[1] if entry is not None and entry[0]() is item else None

    def __contains__(self, item: Item) -> bool:
        return self.get(item) is not None

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[Item, Value]]:
        for reference, value in list(self._entries.values()):
            item = reference()
            if item is not None:
                yield item, value

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()


class IdentitySet(Generic[Item]):
    """A set of objects by identity that does not keep them alive."""

    def __init__(self) -> None:
        self._entries: IdentityMap[Item, bool] = IdentityMap()

    def add(self, item: Item) -> None:
        """Add an object."""
        self._entries[item] = True

    def update(self, items: Iterable[Item]) -> None:
        """Add several objects."""
        for item in items:
            self.add(item)

    def __contains__(self, item: Item | None) -> bool:
        return item is not None and item in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Item]:
        return (item for item, _ in self._entries)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
