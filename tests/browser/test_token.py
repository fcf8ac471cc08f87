"""The access token: required, taken from the link, remembered, removed from the URL."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from sonde.cli.dashboard.link_file import link_file
from tests.browser.conftest import TIMEOUT_MS
from tests.browser.recorded import RESUMED
from tests.browser.served import Served


@pytest.fixture
def new_visitor(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser that has not opened the link yet."""
    context = chromium.new_context()
    context.set_default_timeout(TIMEOUT_MS)
    yield context
    context.close()


def test_link_is_required_once_and_the_token_is_removed_from_the_url(
    new_visitor: BrowserContext, recorded: Served
) -> None:
    plain = recorded.address.partition("?")[0]
    page = new_visitor.new_page()
    page.goto(plain)
    expect(page.get_by_role("heading")).to_have_text("This dashboard needs a token")
    page.goto(recorded.page(RESUMED, "overview"))
    expect(page).to_have_url(f"{plain}#/jobs/{RESUMED}/overview")
    expect(page.locator("main")).to_be_visible()
    assert page.evaluate("document.cookie") == ""
    later = new_visitor.new_page()
    later.goto(plain)
    expect(later.locator("tr[data-job]").first).to_be_visible()


def test_link_from_another_site_grants_access(
    new_visitor: BrowserContext, recorded: Served
) -> None:
    page = new_visitor.new_page()
    with link_file(recorded.address) as link:
        page.goto(link)
        expect(page.locator("tr[data-job]").first).to_be_visible()
        expect(page).to_have_url(recorded.address.partition("?")[0])
