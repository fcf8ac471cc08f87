"""The frame around all pages: navigation, preferences, and error pages."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.chart_data import chart_data, wait_until
from tests.browser.conftest import Open
from tests.browser.recorded import REFERENCE
from tests.browser.served import Served


def test_empty_store_shows_how_to_start(
    open_page: Open, served: Callable[[str], Served], tmp_path: Path
) -> None:
    page = open_page(served(str(tmp_path)).address)
    page.get_by_text("sonde run").first.wait_for()
    assert page.title().startswith("Sonde") or page.title().endswith("Sonde")


def test_theme_and_time_format_are_applied_and_remembered(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes", "t=10-20"))
    chart_data(page, "cpu")
    shown = page.locator(".time-bar .shown")
    expect(shown).to_contain_text("0:10.0 – 0:20.0")
    page.get_by_role("combobox", name="Time format").select_option("utc")
    expect(shown).to_contain_text("22:13:30")
    page.get_by_role("combobox", name="Time format").select_option("local")
    expect(shown).to_contain_text("23:13:30")
    page.get_by_role("combobox", name="Theme").select_option("dark")
    wait_until(page, "() => __sonde.theme === 'dark'")
    page.reload()
    chart_data(page, "cpu")
    expect(shown).to_contain_text("23:13:30")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("__sonde.view") == [10, 20]


def test_window_and_selection_are_kept_between_pages(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes", "t=10-50&sel=20-30"))
    chart_data(page, "breakdown")
    page.get_by_role("link", name="Timeline").click()
    expect(page.locator('[data-chart="timeline-totals"]')).to_contain_text("in selection")
    assert page.evaluate("[__sonde.view, __sonde.selection]") == [[10, 50], [20, 30]]
    page.go_back()
    expect(page.locator("main")).to_have_attribute("data-page", "nodes")
    assert page.evaluate("[__sonde.view, __sonde.selection]") == [[10, 50], [20, 30]]


def test_missing_jobs_pages_and_nodes_show_an_error(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page("missing", "overview"), expected=("404 (Not Found)",))
    expect(page.locator("main [data-state=error]")).to_contain_text("No job 'missing'")
    page.evaluate(f"location.hash = '#/jobs/{REFERENCE}/nowhere'")
    expect(page.locator("main [data-state=error]")).to_contain_text("Page “nowhere” does not exist")
    page.evaluate(f"location.hash = '#/jobs/{REFERENCE}/nodes?node=elsewhere'")
    expect(page.locator("main [data-state=error]")).to_contain_text(
        "Node “elsewhere” does not exist"
    )
    page.evaluate("location.hash = '#/compare'")
    page.get_by_role("link", name="the list of jobs").click()
    expect(page.locator("tr[data-job]").first).to_be_visible()


def test_page_can_be_used_with_the_keyboard_only(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "rules"))
    expect(page.locator("[data-chart=rules-list]")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Search rules")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("li[data-rule] details[open]")).to_have_count(1)
