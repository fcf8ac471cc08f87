"""Documentation is current: generated pages, links, maps and documented costs."""

import json
import re
import runpy
from pathlib import Path

import pytest

import sonde
from sonde import __version__
from sonde.cli import COMMANDS
from sonde.client.job import Job
from sonde.rules import load_rule, rule_names

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "sonde"
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
)
WITH_EXAMPLES = sorted(
    [ROOT / "README.md", *(ROOT / "docs/start").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md")]
)
_COSTS = (  # rows of the page "How it works": the benchmark and its row
    ("sampler", r"all collectors at 500 ms"),
    ("h200", r"all collectors, including all GPU metrics, at 100 ms"),
    ("startup", r"sonde run true, with (report|the defaults): time added"),
    ("hook_overhead", r"perceptron, .*: defaults, step time"),
    ("hook_overhead", r"convolutions, .*: defaults, step time"),
    ("hook_overhead", r"transformer, .*: defaults, step time"),
    ("hook_overhead", r".* per step: no statistics"),
    ("hook_overhead_h200", r"defaults"),
    ("hook_overhead_h200", r"statistics at every step"),
    ("hook_overhead_h200", r"step in an operator window"),
    ("rules_cost", r"all rules for a running job, 2 steps/s, .*"),
    ("rules_cost", r"all rules for a running job, 200 steps/s, .*"),
)
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def test_the_generated_reference_is_current() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    stale = [path.name for path, text in generated.items() if path.read_text() != text]
    assert not stale, f"run `make docs` and review its diff: {', '.join(stale)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_have_a_target(page: Path) -> None:
    for target in _LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_source_map_of_the_readme_lists_every_package() -> None:
    readme = (ROOT / "README.md").read_text()
    source_map = readme[readme.index("## Source map") :]
    folders = re.findall(r"^(\S+/) ", source_map, re.MULTILINE)
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
    packages = {f"src/sonde/{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert packages - set(folders) == set()


def test_the_readme_states_the_number_of_rules() -> None:
    assert f"[{len(rule_names())} checks]" in (ROOT / "README.md").read_text()


def test_every_promise_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "concepts" / "promises.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| test |" not in line]
    assert len(rows) >= 30
    for row in rows:
        result = re.search(r"`(tests/\S+\.py)::(test_\w+)` \|$", row)
        assert result, row
        assert f"def {result[2]}(" in (ROOT / result[1]).read_text(), row


def test_the_changelog_has_the_current_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_command_is_mentioned_in_the_start_page_or_a_how_to() -> None:
    text = "\n".join(page.read_text() for page in WITH_EXAMPLES)
    assert [name for name in COMMANDS.names() if f"sonde {name}" not in text] == []


def _migration_rows() -> list[tuple[str, str]]:
    """Return old names and their replacements."""
    page = (ROOT / "docs/how-to/migrate-from-smdebug.md").read_text()
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    return [(old, new) for old, new in rows]


def test_every_name_of_the_old_client_is_on_the_migration_page() -> None:
    text = (ROOT / "tests/old_client_names.txt").read_text()
    names = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(names) > 250
    rows = _migration_rows()
    expected = {
        word
        for old, new in rows
        if new.strip()
        for code in re.findall(r"`([^`]+)`", old)
        for word in re.findall(r"\w+", code)
    }
    assert [name for name in names if name not in expected] == []


def test_names_offered_by_the_migration_page_exist() -> None:
    offered = " ".join(
        code for _, new in _migration_rows() for code in re.findall(r"`([^`]+)`", new)
    )
    assert [item for item in re.findall(r"\bjob\.(\w+)", offered) if not hasattr(Job, item)] == []
    assert [
        name for name in re.findall(r"\bsonde\.(\w+)", offered) if not hasattr(sonde, name)
    ] == []
    commands = re.findall(r"\bsonde ([a-z]+)\b", offered)
    assert [item for item in commands if item not in COMMANDS.names()] == []


def test_rules_with_unchanged_names_exist() -> None:
    unchanged = [old for old, new in _migration_rows() if "rules of those names" in new]
    names = [name for old in unchanged for name in re.findall(r"`(\w+)`", old)]
    assert len(names) > 20
    assert [name for name in names if load_rule(name).name() != name] == []


def test_documented_costs_match_benchmarks() -> None:
    """The tolerance accepts another run of the same benchmark, but no outdated figure."""
    page = (ROOT / "docs/concepts/how-it-works.md").read_text()
    rows = re.findall(r"^\|[^|]+\|([^|]+)\| (?:H200|2 cores) \|$", page, re.MULTILINE)
    for figure, (benchmark, row) in zip(rows, _COSTS, strict=True):
        documented = float(re.findall(r"\d+\.?\d*", figure)[0])
        results = json.loads((ROOT / f"benchmarks/results/{benchmark}.json").read_text())
        [measured] = [
            item["measured"] for item in results["rows"] if re.fullmatch(row, item["what"])
        ]
        is_near = abs(documented - measured) <= max(
            0.3 * measured, 0.4 if "longer" in figure else 0.0
        )
        assert is_near, f"{row}: documented {documented}, measured {measured:.4g}"
