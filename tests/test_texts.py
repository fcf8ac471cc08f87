"""The lists of texts in tests/golden/texts are what the program prints."""

import pytest

from tests.texts import FOLDER, PACKAGE, SCREENS, pages, texts_of


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
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert (names | modules) - set(SCREENS) == set()


def test_texts_of_every_kind_are_listed() -> None:
    lists = {path.stem: text for path, text in pages().items()}
    assert "- CPU bottlenecks\n" in lists["charts"]  # a title
    assert "- sonde status resnet --json\n" in lists["command_line"]  # an example in a help text
    assert "  How it decides:\n" in lists["findings_and_advice"]  # a rule page
    assert "- Job {self.name!r} has no node {name!r}." in lists["errors"]  # with its values
    assert "<h1>This dashboard needs a token</h1>" in lists["dashboard_server"]  # with its tags


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("page = '<p>Open the link.</p>'", ["<p>Open the link.</p>"]),
        ("text = f\"{pluralize(n, 'step')}\"", ["{pluralize(n, 'step')}"]),
        ("text = f\"{'is' if n else 'are'}\"", ["{'is' if n else 'are'}"]),
        ("text = f'Loss is {loss:.3g} at {name!r}'", ["Loss is {loss:.3g} at {name!r}"]),
        ("def rows() -> 'list[tuple[str, int]]': ...", []),
        ("rows: 'list[tuple[str, int]]' = cast('dict[str, int]', data)", []),
        ("kind = np.dtype('<f8')", []),
    ],
)
def test_texts_are_collected_from_source(source: str, texts: list[str]) -> None:
    assert [text for text, _ in texts_of(source)] == texts
