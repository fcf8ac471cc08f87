"""The built bundles of the dashboard and of reports: complete, small, and self-contained."""

import gzip
import re
from pathlib import Path

import pytest

import sonde

PACKAGE = Path(sonde.__file__).parent
SCRIPTS = ("web/assets/app.js", "drawing/assets/report.js")
STYLES = ("web/assets/app.css", "drawing/assets/report.css")
LICENSES = "web/assets/LICENSES.txt"
MAX_GZIPPED_BYTES = {".js": 120_000, ".css": 15_000}
# XML namespaces look like URLs; nothing is loaded from them
NAMESPACES = ("http://www.w3.org/",)
URL = re.compile(r"(?:https?:|wss?:)//[^\s\"'`)]+")


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES, LICENSES])
def test_file_is_in_the_package(name: str) -> None:
    assert (PACKAGE / name).stat().st_size > 0


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES])
def test_bundle_is_small_enough_for_a_slow_connection(name: str) -> None:
    compressed = gzip.compress((PACKAGE / name).read_bytes(), mtime=0)
    assert len(compressed) <= MAX_GZIPPED_BYTES[Path(name).suffix]


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES])
def test_bundle_contains_no_external_url(name: str) -> None:
    text = (PACKAGE / name).read_text(encoding="utf-8")
    assert [url for url in URL.findall(text) if not url.startswith(NAMESPACES)] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_never_turns_text_into_code_or_markup(name: str) -> None:
    text = (PACKAGE / name).read_text(encoding="utf-8")
    for call in ("eval(", "new Function(", "document.write(", "insertAdjacentHTML"):
        assert call not in text


def test_licenses_list_every_bundled_package() -> None:
    text = (PACKAGE / LICENSES).read_text(encoding="utf-8")
    for package in ("preact", "@preact/signals", "@preact/signals-core", "uplot"):
        assert f"\n{package} " in text
