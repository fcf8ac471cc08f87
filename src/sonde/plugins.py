"""Slots: folders whose files are plug-ins.

The folder is the registry: a file's name is the plug-in's name, listing imports nothing, loading
imports that one file. Other packages add to a slot through an entry point named after it.
"""

import importlib
import inspect
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from sonde.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Base = TypeVar("Base")


@dataclass(frozen=True)
class Slot(Generic[Base]):
    """A folder of plug-ins that all derive from one base class."""

    package: str
    base: type[Base]

    def names(self) -> tuple[str, ...]:
        """All plug-ins, by file name; nothing is imported but the slot's own package."""
        return tuple(sorted({*self._files(), *self._entry_points()}))

    def __contains__(self, name: str) -> bool:
        return name in self._files() or name in self._entry_points()

    def has_file(self, name: str) -> bool:
        """Whether it is one of our own: to ask other packages takes 15 ms."""
        return name in self._files()

    def file_of(self, name: str) -> Path | None:
        """The file of one of our own."""
        return self._files().get(name)

    def load(self, name: str) -> type[Base]:
        """Imports one plug-in and returns its class."""
        known = self._files()
        wanted = name.replace("-", "_")
        if wanted in known:
            return self._class_in(f"{self.package}.{known[wanted].stem}")
        outside = self._entry_points().get(wanted)
        if outside is not None:
            plugin = outside.load()
            if inspect.isclass(plugin) and issubclass(plugin, self.base):
                return plugin
            raise UsageError(f"Entry point {outside.value!r} is not a {self.base.__name__}.")
        kind = self.package.rpartition(".")[2].rstrip("s")
        raise UsageError(f"No {kind} named {name!r}. Known: {', '.join(self.names())}")

    def _files(self) -> dict[str, Path]:
        spec = find_spec(self.package)
        folders = (spec.submodule_search_locations if spec else None) or []
        return {
            file.stem.rstrip("_"): file
            for folder in folders
            for file in Path(folder).glob("[a-z]*.py")
        }

    def _entry_points(self) -> "dict[str, EntryPoint]":
        from importlib.metadata import entry_points  # noqa: PLC0415 — 15 ms that few need

        return {point.name: point for point in entry_points(group=self.package)}

    def _class_in(self, module_name: str) -> type[Base]:
        module = importlib.import_module(module_name)
        for value in vars(module).values():
            if (
                inspect.isclass(value)
                and value.__module__ == module_name
                and issubclass(value, self.base)
            ):
                return value
        raise UsageError(f"{module_name} holds no {self.base.__name__}.")
