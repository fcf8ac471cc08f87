"""The frame around all pages: where one is, how time and colors are shown, what is not there."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.drawn import becomes, drawn
from tests.browser.recorded import KNOWN
from tests.browser.served import Served


def test_a_store_without_jobs_says_how_to_begin(
    open_page: Open, served: Callable[[str], Served], tmp_path: Path
) -> None:
    page = open_page(served(str(tmp_path)).address)
    page.get_by_text("sonde run").first.wait_for()
    assert page.title().startswith("Sonde") or page.title().endswith("Sonde")


def test_colors_and_times_are_shown_as_chosen_and_stay_so(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(KNOWN, "nodes", "t=10-20"))
    drawn(page, "cpu")
    shown = page.locator(".time-bar .shown")
    expect(shown).to_contain_text("0:10.0 – 0:20.0")
    page.get_by_role("combobox", name="How time is shown").select_option("utc")
    expect(shown).to_contain_text("22:13:30")
    page.get_by_role("combobox", name="How time is shown").select_option("local")
    expect(shown).to_contain_text("23:13:30")
    page.get_by_role("combobox", name="Theme").select_option("dark")
    becomes(page, "() => __sonde.theme === 'dark'")
    page.reload()
    drawn(page, "cpu")
    expect(shown).to_contain_text("23:13:30")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("__sonde.view") == [10, 20]


def test_window_and_selection_go_along_from_page_to_page_and_back(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(KNOWN, "nodes", "t=10-50&sel=20-30"))
    drawn(page, "breakdown")
    page.get_by_role("link", name="Timeline").click()
    expect(page.locator('[data-chart="timeline-totals"]')).to_contain_text("in the selection")
    assert page.evaluate("[__sonde.view, __sonde.selection]") == [[10, 50], [20, 30]]
    page.go_back()
    expect(page.locator("main")).to_have_attribute("data-page", "nodes")
    assert page.evaluate("[__sonde.view, __sonde.selection]") == [[10, 50], [20, 30]]


def test_what_is_not_there_is_said_with_a_way_out(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page("nobody", "overview"), expected=("404 (Not Found)",))
    expect(page.locator("main [data-state=error]")).to_contain_text("No job 'nobody'")
    page.evaluate(f"location.hash = '#/jobs/{KNOWN}/nowhere'")
    expect(page.locator("main [data-state=error]")).to_contain_text("no page named “nowhere”")
    page.evaluate(f"location.hash = '#/jobs/{KNOWN}/nodes?node=elsewhere'")
    expect(page.locator("main [data-state=error]")).to_contain_text("no node named “elsewhere”")
    page.evaluate("location.hash = '#/compare'")
    page.get_by_role("link", name="the list of jobs").click()
    expect(page.locator("tr[data-job]").first).to_be_visible()


def test_a_page_is_used_with_keys_alone(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(KNOWN, "rules"))
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
