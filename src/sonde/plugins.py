"""Plug-in slots: packages whose modules are plug-ins.

The package is the registry: a file's name is the plug-in's name, listing imports nothing, and
loading imports only that file. Other distributions add plug-ins through entry points.
"""

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from sonde.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Base = TypeVar("Base")


@dataclass(frozen=True)
class Slot(Generic[Base]):
    """A package of plug-ins that derive from one base class."""

    package: str
    base: type[Base]

    def names(self) -> tuple[str, ...]:
        """The names of all plug-ins; imports only the package itself."""
        return tuple(sorted({*self._files(), *self._entry_points()}))

    def __contains__(self, name: str) -> bool:
        return name in self._files() or name in self._entry_points()

    def has_file(self, name: str) -> bool:
        """Whether a plug-in is built in; does not scan entry points, which takes 15 ms."""
        return name in self._files()

    def file_of(self, name: str) -> Path | None:
        """The file of a built-in plug-in."""
        return self._files().get(name)

    def load(self, name: str) -> type[Base]:
        """Import a plug-in and return its class."""
        files = self._files()
        module_name = name.replace("-", "_")
        if module_name in files:
            return self._class_in(f"{self.package}.{files[module_name].stem}")
        entry_point = self._entry_points().get(module_name)
        if entry_point is not None:
            plugin = entry_point.load()
            if inspect.isclass(plugin) and issubclass(plugin, self.base):
                return plugin
            raise UsageError(f"Entry point {entry_point.value!r} is not a {self.base.__name__}.")
        kind = self.package.rpartition(".")[2].rstrip("s")
        raise UsageError(f"No {kind} named {name!r}. Available: {', '.join(self.names())}")

    def _files(self) -> Mapping[str, Path]:
        spec = find_spec(self.package)
        folders = (spec.submodule_search_locations if spec else None) or []
        return {name: file for folder in folders for name, file in _files_in(folder).items()}

    def _entry_points(self) -> "dict[str, EntryPoint]":
        from importlib.metadata import entry_points  # noqa: PLC0415 — takes 15 ms

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
        raise UsageError(f"{module_name} defines no {self.base.__name__}.")


@cache
def _files_in(folder: str) -> Mapping[str, Path]:
    """The plug-in files of a folder; listed once, because loading all rules asks 300 times."""
    return {file.stem.rstrip("_"): file for file in Path(folder).glob("[a-z]*.py")}
