"""Collections of objects by what they are, not by what they say they equal.

Some modules compute their hash from attributes that they do not have yet when they are made.
"""

import weakref
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


class IdentityMap(Generic[Item, Value]):
    """Values of objects; those that are gone are gone from here, too."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Item], Value]] = {}

    def __setitem__(self, item: Item, value: Value) -> None:
        key, known = id(item), self._known

        def forget(gone: "weakref.ref[Item]") -> None:
            if key in known and known[key][0] is gone:
                del known[key]

        known[key] = (weakref.ref(item, forget), value)

    def get(self, item: Item) -> Value | None:
        """The value of an object, if it has one."""
        found = self._known.get(id(item))
        return found[1] if found is not None and found[0]() is item else None

    def __contains__(self, item: Item) -> bool:
        return self.get(item) is not None

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[tuple[Item, Value]]:
        for reference, value in list(self._known.values()):
            item = reference()
            if item is not None:
                yield item, value

    def clear(self) -> None:
        """Forgets them all."""
        self._known.clear()


class IdentitySet(Generic[Item]):
    """Objects; those that are gone are gone from here, too."""

    def __init__(self) -> None:
        self._known: IdentityMap[Item, bool] = IdentityMap()

    def add(self, item: Item) -> None:
        """One more."""
        self._known[item] = True

    def update(self, items: Iterable[Item]) -> None:
        """All of these."""
        for item in items:
            self.add(item)

    def __contains__(self, item: Item | None) -> bool:
        return item is not None and item in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Item]:
        return (item for item, _ in self._known)

    def clear(self) -> None:
        """Forgets them all."""
        self._known.clear()
