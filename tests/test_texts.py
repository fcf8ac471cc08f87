"""The lists of texts in tests/golden/texts are what the program prints."""

from tests.texts import FOLDER, PACKAGE, SCREENS, pages


def test_the_lists_of_texts_are_current() -> None:
    stale = [
        path.name for path, text in pages().items() if not path.exists() or path.read_text() != text
    ]
    assert not stale, f"run `make texts` and review its diff: {', '.join(stale)}"


def test_no_list_is_left_over() -> None:
    names = {path.name for path in pages()} | {"dashboard.txt"}
    assert {path.name for path in FOLDER.glob("*.txt")} == names


def test_every_package_has_its_screen() -> None:
    names = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert names - set(SCREENS) == set()


def test_texts_of_every_kind_are_listed() -> None:
    lists = {path.stem: text for path, text in pages().items()}
    assert "- CPU bottlenecks\n" in lists["charts"]  # a title
    assert "- sonde status resnet --json\n" in lists["command_line"]  # an example in a help text
    assert "  How it decides:\n" in lists["findings_and_advice"]  # a rule page
    assert "- Job {self.name} has no node {name}." in lists["errors"]  # with its values
