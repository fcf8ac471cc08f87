"""A real Chromium before a real server; a page that complains fails its test."""

import shutil
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from sonde.cli.dashboard.token import load_token
from sonde.web.security import Door
from tests.browser.recorded import Known, fill
from tests.browser.served import Served, serve

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No connection of its own, no profile of anybody, and root may start it.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    # else a frame of a page without scripts may run some before it learns that it must not
    "--disable-features=IsolateSandboxedIframes",
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDE = (1440, 1000)
HIGH = (1440, 6000)  # no part of a page waits to be scrolled to
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)

Open = Callable[..., Page]

_NOTE_VIOLATIONS = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.__violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
"""


@pytest.fixture(scope="session")
def playwright_driver() -> Iterator[Playwright]:
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def chromium(playwright_driver: Playwright) -> Iterator[Browser]:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found is not None, "There is no Chromium here. Get it with: make browser"
    browser = playwright_driver.chromium.launch(executable_path=found, args=list(FLAGS))
    yield browser
    browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens pages; at the end none of them may have complained."""
    opened: list[tuple[BrowserContext, Page]] = []
    complaints: list[str] = []

    def open_one(
        address: str,
        theme: str = "light",
        size: tuple[int, int] = WIDE,
        scripts: bool = True,
        expected: tuple[str, ...] = (),
        touch: bool = False,
    ) -> Page:
        width, height = size
        context = chromium.new_context(
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
            timezone_id="Europe/Berlin",
            java_script_enabled=scripts,
            has_touch=touch,
        )
        context.set_default_timeout(PATIENCE_MS)
        if scripts:
            context.add_init_script(_NOTE_VIOLATIONS)
        if address.startswith("http"):
            remember(context, address)
        page = context.new_page()
        opened.append((context, page))
        page.on("console", lambda one: _note(complaints, one.type, one.text, expected))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield open_one
    for context, page in opened:
        if not page.is_closed() and page.url.startswith("http"):
            complaints += page.evaluate("window.__violations ?? []")
        context.close()
    assert complaints == []


def remember(context: BrowserContext, address: str) -> None:
    """Makes it a browser that has opened the printed link before."""
    door = Door(urlsplit(address).port or 80, load_token())
    context.add_cookies([{"name": door.cookie, "value": door.cookie_value, "url": address}])


def _note(complaints: list[str], kind: str, text: str, expected: tuple[str, ...]) -> None:
    if kind in ("error", "warning") and not any(one in text for one in expected):
        complaints.append(f"{kind}: {text}")


@pytest.fixture(scope="session")
def served() -> Iterator[Callable[[str], Served]]:
    """Serves stores, each at an address of its own, until the tests are over."""
    running: dict[str, Served] = {}

    def served_once(store: str) -> Served:
        if store not in running:
            running[store] = serve(store)
        return running[store]

    yield served_once
    for one in running.values():
        one.stop()


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Known]:
    """A store of jobs that are over, and what is known of the first."""
    store = str(tmp_path_factory.mktemp("recorded"))
    return store, fill(store)


@pytest.fixture(scope="session")
def known(filled: tuple[str, Known]) -> Known:
    return filled[1]


@pytest.fixture(scope="session")
def recorded(filled: tuple[str, Known], served: Callable[[str], Served]) -> Served:
    """The store of recorded jobs, served; nobody changes it."""
    return served(filled[0])
