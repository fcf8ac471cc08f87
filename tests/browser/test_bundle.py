"""A page written by `sonde bundle`, opened from the file system."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sonde.cli._main import run_command_line
from tests.browser.chart_data import chart_data
from tests.browser.conftest import Open
from tests.browser.recorded import FLEET, REFERENCE, Expected

_POLICY_VIOLATIONS = "window.__violations ?? []"


@pytest.fixture(scope="module")
def bundles(filled: tuple[str, Expected], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    for job in (REFERENCE, FLEET):
        output = str(folder / f"{job}.html")
        assert run_command_line(["bundle", job, "--store", filled[0], "-o", output]) == 0
    return folder


def visit(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Pages of this job").get_by_role(
        "link", name=name, exact=True
    ).click()


def errors(page: Page) -> Iterator[str]:
    for notice in page.locator(".notice.error, .stale").all():
        yield notice.inner_text()


def test_every_page_works_without_a_server(open_page: Open, bundles: Path) -> None:
    page = open_page((bundles / f"{REFERENCE}.html").as_uri())
    expect(page.get_by_role("heading", name=REFERENCE)).to_be_visible()
    expect(page.get_by_label("Verdict")).to_be_visible()
    expect(page.get_by_label("About this file")).to_contain_text("Written on")
    for name in ("Nodes", "Tensors", "Timeline", "Rules"):
        visit(page, name)
        expect(page.locator(f'main[data-page="{name.lower()}"]')).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert list(errors(page)) == []
    assert page.evaluate(_POLICY_VIOLATIONS) == []


def test_zoom_shows_recorded_samples_of_a_shorter_window(open_page: Open, bundles: Path) -> None:
    page = open_page(f"{(bundles / f'{REFERENCE}.html').as_uri()}#/jobs/{REFERENCE}/nodes?t=40-50")
    times = chart_data(page, "cpu")["x"]
    assert len([time for time in times if 40 <= time <= 50]) >= 10
    expect(page.get_by_label("Breakdown", exact=True)).to_contain_text("entire job only")


def test_fleet_fits_and_opens_on_its_nodes(open_page: Open, bundles: Path) -> None:
    path = bundles / f"{FLEET}.html"
    assert path.stat().st_size <= 5_000_000
    page = open_page(f"{path.as_uri()}#/jobs/{FLEET}/nodes")
    expect(page.get_by_text("nodes differ").or_(page.get_by_text("differs"))).to_be_visible()
    page.get_by_text("Some data was left out").click()
    expect(page.get_by_label("About this file")).to_contain_text("zoom levels")
