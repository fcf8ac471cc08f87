"""Documentation cannot drift: generated pages are current, maps are true."""

import re
import runpy
from pathlib import Path

import pytest

import sonde
from sonde import __version__
from sonde.cli import COMMANDS
from sonde.client.job import Job
from sonde.rules import load_rule

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


def _rows_of_moving_over() -> list[tuple[str, str]]:
    """What was, and what there is instead."""
    page = (ROOT / "docs/how-to/moving-over.md").read_text()
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    return [(before, here) for before, here in rows]


def test_every_name_of_the_old_client_has_its_line_on_the_page_on_moving_over() -> None:
    text = (ROOT / "tests/old_client_names.txt").read_text()
    names = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(names) > 250
    rows = _rows_of_moving_over()
    known = {
        word
        for before, here in rows
        if here.strip()
        for code in re.findall(r"`([^`]+)`", before)
        for word in re.findall(r"\w+", code)
    }
    assert [name for name in names if name not in known] == []


def test_what_the_page_on_moving_over_offers_exists() -> None:
    offered = " ".join(
        code for _, here in _rows_of_moving_over() for code in re.findall(r"`([^`]+)`", here)
    )
    assert [one for one in re.findall(r"\bjob\.(\w+)", offered) if not hasattr(Job, one)] == []
    assert [one for one in re.findall(r"\bsonde\.(\w+)", offered) if not hasattr(sonde, one)] == []
    commands = re.findall(r"\bsonde ([a-z]+)\b", offered)
    assert [one for one in commands if one not in COMMANDS.names()] == []


def test_rules_that_moved_over_by_name_are_there() -> None:
    by_name = [before for before, here in _rows_of_moving_over() if "rules of those names" in here]
    named = [one for before in by_name for one in re.findall(r"`(\w+)`", before)]
    assert len(named) > 20
    assert [one for one in named if load_rule(one).name() != one] == []
