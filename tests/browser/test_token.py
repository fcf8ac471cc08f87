"""The token in a real browser: needed, taken from the link, remembered, gone from the address."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from sonde.cli.dashboard.link_file import link_file
from tests.browser.conftest import PATIENCE_MS
from tests.browser.recorded import RESUMED
from tests.browser.served import Served


@pytest.fixture
def stranger(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser that has never seen the link."""
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


def test_the_link_is_needed_once_and_the_token_leaves_the_address_bar(
    stranger: BrowserContext, recorded: Served
) -> None:
    plain = recorded.address.partition("?")[0]
    page = stranger.new_page()
    page.goto(plain)
    expect(page.get_by_role("heading")).to_have_text("This dashboard needs a token")
    page.goto(recorded.page(RESUMED, "overview"))
    expect(page).to_have_url(f"{plain}#/jobs/{RESUMED}/overview")
    expect(page.locator("main")).to_be_visible()
    assert page.evaluate("document.cookie") == ""
    later = stranger.new_page()
    later.goto(plain)
    expect(later.locator("tr[data-job]").first).to_be_visible()


def test_a_link_on_a_page_of_another_site_leads_in(
    stranger: BrowserContext, recorded: Served
) -> None:
    page = stranger.new_page()
    with link_file(recorded.address) as link:
        page.goto(link)
        expect(page.locator("tr[data-job]").first).to_be_visible()
        expect(page).to_have_url(recorded.address.partition("?")[0])
