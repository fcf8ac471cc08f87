"""Names that contain scripts are shown as text on every page."""

import pytest
from playwright.sync_api import expect

from tests.browser.chart_data import FITS, wait_until
from tests.browser.conftest import HIGH, Open
from tests.browser.recorded import HOSTILE, HOSTILE_INSIDE
from tests.browser.served import Served
from tests.fakes.stores import ATTACK, ATTACKS

PAGES = {
    HOSTILE: ("overview", "nodes", "rules"),
    HOSTILE_INSIDE: ("overview", "nodes", "timeline", "tensors"),
}
_FOREIGN = """() => [
  ...document.querySelectorAll("main img, main iframe, main script, [onerror], [onmouseover]"),
].map((element) => element.outerHTML)"""


@pytest.mark.parametrize("job", PAGES)
def test_names_with_scripts_are_shown_as_text(open_page: Open, recorded: Served, job: str) -> None:
    page = open_page(recorded.page(job, PAGES[job][0]), size=HIGH)
    page.on("dialog", lambda dialog: pytest.fail(f"a name was executed: {dialog.message}"))
    for name in PAGES[job]:
        page.get_by_role("navigation").get_by_role("link", name=name.title()).click()
        expect(page.locator(f"main[data-page={name}] [data-chart]").first).to_be_visible()
        expect(page.locator("main [data-state=loading]:visible")).to_have_count(0)
        expect(page.locator("main [data-state=error]")).to_have_count(0)
        assert page.evaluate(_FOREIGN) == []
        wait_until(page, FITS)  # although one of the names is wider than the viewport
    if job == HOSTILE:
        for text in ATTACKS[:5]:
            expect(page.locator("main")).to_contain_text(text)
    else:
        names = page.get_by_role("listbox", name="Tensors by name")
        names.get_by_role("option").first.click()
        expect(page.locator("[data-chart=value-card]")).to_contain_text(ATTACK)
        assert page.evaluate(_FOREIGN) == []


def test_folder_with_an_invalid_job_name_is_listed_but_not_opened(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.address, expected=("400 (Bad Request)",))
    page.on("dialog", lambda dialog: pytest.fail(f"a name was executed: {dialog.message}"))
    page.locator(f'tr[data-job="{ATTACK}"]').get_by_role("link").click()
    expect(page.locator("h1")).to_contain_text(ATTACK)
    expect(page.locator("main [data-state=error]")).to_contain_text(f"Invalid job name '{ATTACK}'")
    assert page.evaluate(_FOREIGN) == []
