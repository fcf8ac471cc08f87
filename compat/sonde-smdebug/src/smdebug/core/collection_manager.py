"""The collections of a hook or a trial."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smdebug.core.collection import Collection
from smdebug.exceptions import SMDebugValueError

_COLLECTIONS = "collections"
_META = "_meta"
_NUM_WORKERS = "num_workers"


class CollectionManager:
    """Collections by name."""

    def __init__(
        self,
        collections: Mapping[str, Collection] | None = None,
        collection_type: type[Collection] = Collection,
    ) -> None:
        self.collections: dict[str, Collection] = dict(collections or {})
        self._collection_type = collection_type
        self._num_workers = 1

    def create_collection(self, name: str) -> Collection:
        """Create a collection with default settings, unless it exists."""
        return self.collections.setdefault(name, self._collection_type(name))

    def get_collections(self) -> dict[str, Collection]:
        """All collections by name."""
        return self.collections

    def add(self, arg: Collection | str) -> None:
        """Add a collection, in place of another one of that name."""
        collection = self._collection_type(arg) if isinstance(arg, str) else arg
        self.collections[collection.name] = collection

    def get(self, name: str, create: bool = False) -> Collection:
        """The collection of that name.

        Raises:
            KeyError: There is none, and `create` is not set.
        """
        if create:
            return self.create_collection(name)
        return self.collections[name]

    def set_num_workers(self, num_workers: int) -> None:
        """Set the number of workers that save tensors."""
        self._num_workers = num_workers

    def get_num_workers(self) -> int:
        """The number of workers that save tensors."""
        return self._num_workers

    def to_json_dict(self) -> dict[str, Any]:
        """The collections and the number of workers."""
        collections = {name: each.to_json_dict() for name, each in self.collections.items()}
        return {_COLLECTIONS: collections, _META: {_NUM_WORKERS: self._num_workers}}

    def export(self, filepath: str, filename: str = "") -> None:
        """Write the collections into a JSON file; its folder is created."""
        file = Path(filepath, filename)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(self.to_json_dict()))

    @classmethod
    def load(cls, filepath: str, coll_class: type[Collection] = Collection) -> "CollectionManager":
        """Read a file that `export` has written."""
        return cls.load_from_string(Path(filepath).read_text(), coll_class)

    @classmethod
    def load_from_string(
        cls, s: str, coll_class: type[Collection] = Collection
    ) -> "CollectionManager":
        """Read the content of a file that `export` has written."""
        document = json.loads(s)
        unknown = sorted(set(document) - {_COLLECTIONS, _META})
        if unknown:
            raise SMDebugValueError(f"Unknown key {unknown[0]!r} in a file of collections")
        collections = {
            name: coll_class.from_dict(params)
            for name, params in document.get(_COLLECTIONS, {}).items()
        }
        manager = cls(collections, coll_class)
        manager.set_num_workers(document.get(_META, {}).get(_NUM_WORKERS, 1))
        return manager

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionManager):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    __hash__ = object.__hash__
