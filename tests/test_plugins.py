"""Plug-in folders: names without imports, one import per plug-in."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from sonde.errors import UsageError
from sonde.plugins import Slot


class Animal:
    """The base class of the plug-ins in these tests."""


class Outsider(Animal):
    """A plug-in of another package."""


@pytest.fixture
def slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slot[Animal]]:
    package = tmp_path / "zoo_animals"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_private.py").write_text("raise RuntimeError('imported')")
    (package / "broken.py").write_text("raise RuntimeError('imported')")
    (package / "empty.py").write_text("from tests.test_plugins import Animal\n")
    (package / "import_.py").write_text(_source("Import"))
    (package / "gray_wolf.py").write_text(_source("GrayWolf"))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Slot("zoo_animals", Animal)
    for name in [name for name in sys.modules if name.startswith("zoo_animals")]:
        del sys.modules[name]


def _source(name: str) -> str:
    return f"from tests.test_plugins import Animal\nclass {name}(Animal): pass\n"


def test_listing_names_imports_nothing(slot: Slot[Animal]) -> None:
    assert slot.names() == ("broken", "empty", "gray_wolf", "import")
    assert "zoo_animals.broken" not in sys.modules


def test_loading_imports_that_one_file(slot: Slot[Animal]) -> None:
    assert slot.load("gray_wolf").__name__ == "GrayWolf"
    assert slot.load("gray-wolf").__name__ == "GrayWolf"
    assert "zoo_animals.broken" not in sys.modules


def test_a_reserved_name_has_a_trailing_underscore_in_its_file_name(slot: Slot[Animal]) -> None:
    assert slot.load("import").__name__ == "Import"


def test_an_unknown_name_lists_available_names(slot: Slot[Animal]) -> None:
    message = r"No zoo_animal named 'cat'. Available: broken, empty, gray"
    with pytest.raises(UsageError, match=message):
        slot.load("cat")


def test_a_file_without_a_class_of_the_slot_is_an_error(slot: Slot[Animal]) -> None:
    with pytest.raises(UsageError, match="defines no Animal"):
        slot.load("empty")


def test_entry_points_add_plugins_to_a_slot(
    slot: Slot[Animal], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [
        EntryPoint("outsider", "tests.test_plugins:Outsider", "zoo_animals"),
        EntryPoint("stranger", "tests.test_plugins:_source", "zoo_animals"),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group else [])
    assert "outsider" in slot.names()
    assert issubclass(slot.load("outsider"), Animal)
    with pytest.raises(UsageError, match="is not a Animal"):
        slot.load("stranger")
