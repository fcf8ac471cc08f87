"""Documentation cannot drift: generated pages are current, maps are true."""

import re
import runpy
from pathlib import Path

import pytest

from sonde import __version__
from sonde.cli import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
WITH_EXAMPLES = sorted(
    [ROOT / "README.md", *(ROOT / "docs/start").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md")]
)
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def test_the_generated_reference_is_current() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    stale = [path.name for path, text in generated.items() if path.read_text() != text]
    assert not stale, "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_paths_in_the_map_of_the_readme_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    house = readme[readme.index("## The house") :]
    paths = re.findall(r"^(src/sonde/\S+|docs/|tests/|benchmarks/|examples/)", house, re.MULTILINE)
    assert len(paths) >= 10
    for path in paths:
        assert (ROOT / path).exists(), path


def test_the_changelog_has_the_current_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_command_is_mentioned_in_the_start_page_or_a_how_to() -> None:
    text = "\n".join(page.read_text() for page in WITH_EXAMPLES)
    assert [name for name in COMMANDS.names() if f"sonde {name}" not in text] == []
