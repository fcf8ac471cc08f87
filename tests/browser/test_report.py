"""The report in a real browser: with scripts and without, light and dark, narrow and on paper."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sonde.client.reports import report_of
from tests.browser.conftest import Open
from tests.fakes.reported import STEPS, reported_job


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = reported_job(name="<img src=x onerror=alert(1)>node")
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(report_of(made.job, made.jobs[0].backend).html)
    return file.as_uri()


def violations(page: Page) -> list[str]:
    found: list[str] = page.evaluate("window.__violations ?? []")
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_with_scripts_pictures_are_alive(open_page: Open, address: str, theme: str) -> None:
    page = open_page(address, theme=theme)
    figure = page.locator('figure[data-chart="losses"]')
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".live canvas").first).to_be_visible()
    expect(figure.locator(".static")).to_be_hidden()
    assert violations(page) == []


def test_with_scripts_tables_sort(open_page: Open, address: str) -> None:
    page = open_page(address)
    page.locator('details.fold:has(figure[data-chart="step_statistics"]) summary').click()
    table = page.locator('figure[data-chart="step_statistics"] table')
    table.scroll_into_view_if_needed()
    first = table.locator("tbody tr").first.locator("td").nth(2)
    title = table.locator("thead th").nth(2).locator("button")
    title.click()
    expect(first).to_have_text(str(STEPS))
    title.click()
    expect(first).to_have_text("4")


def test_without_scripts_everything_is_there(open_page: Open, address: str) -> None:
    page = open_page(address, scripts=False)
    assert page.locator("figure .static svg").count() > 15
    assert page.locator("figure image.heat").count() >= 4
    expect(page.locator("#summary")).to_contain_text("Training loop share")
    page.locator("#steps summary").first.click()
    expect(page.locator('figure[data-chart="step_histogram"] svg path').first).to_be_visible()


@pytest.mark.parametrize("width", [820, 1440])
def test_nothing_is_wider_than_the_window(open_page: Open, address: str, width: int) -> None:
    page = open_page(address, size=(width, 900))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_stay_texts(open_page: Open, address: str) -> None:
    page = open_page(address)
    assert page.locator("img").count() == 0
    expect(page.locator("#system")).to_contain_text("<img src=x onerror=alert(1)>node-a")


def test_it_prints(open_page: Open, address: str, tmp_path: Path) -> None:
    page = open_page(address, scripts=False)
    page.pdf(path=str(tmp_path / "a4.pdf"), format="A4", print_background=True)
    content = (tmp_path / "a4.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= content.count(b"/Type /Page\n") <= 12
