"""The built dashboard and report script: there, small, and without an address of anybody else."""

import gzip
import re
from pathlib import Path

import pytest

import sonde.show

ASSETS = Path(sonde.show.__file__).parent / "assets"
SCRIPTS, STYLES = ("app.js", "report.js"), ("app.css", "report.css")
MOST_BYTES = {".js": 120_000, ".css": 15_000}
# names of XML vocabularies look like addresses; nobody goes there
VOCABULARIES = ("http://www.w3.org/",)
ADDRESS = re.compile(r"(?:https?:|wss?:)//[^\s\"'`)]+")


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES, "LICENSES.txt"])
def test_every_file_is_in_the_package(name: str) -> None:
    assert (ASSETS / name).stat().st_size > 0


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES])
def test_a_bundle_is_small_enough_for_a_slow_line(name: str) -> None:
    packed = gzip.compress((ASSETS / name).read_bytes(), mtime=0)
    assert len(packed) <= MOST_BYTES[Path(name).suffix]


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES])
def test_a_bundle_leads_nowhere_outside(name: str) -> None:
    text = (ASSETS / name).read_text(encoding="utf-8")
    found = [one for one in ADDRESS.findall(text) if not one.startswith(VOCABULARIES)]
    assert found == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_makes_no_code_and_no_markup_of_texts(name: str) -> None:
    text = (ASSETS / name).read_text(encoding="utf-8")
    for way in ("eval(", "new Function(", "document.write(", "insertAdjacentHTML"):
        assert way not in text


def test_licenses_name_every_package_that_is_shipped() -> None:
    text = (ASSETS / "LICENSES.txt").read_text(encoding="utf-8")
    for package in ("preact", "@preact/signals", "@preact/signals-core", "uplot"):
        assert f"\n{package} " in text
