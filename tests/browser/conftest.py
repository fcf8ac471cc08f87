"""Fixtures with a real Chromium and a real server; errors on a page fail its test."""

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
from sonde.web.security import AccessPolicy
from tests.browser.recorded import Expected, fill
from tests.browser.served import Served, serve

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No background connections, no user profile, and it can be started as root.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    # otherwise frames of pages without scripts can run scripts before the restriction applies
    "--disable-features=IsolateSandboxedIframes",
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDE = (1440, 1000)
HIGH = (1440, 6000)  # shows every page without scrolling
TIMEOUT_MS = 30_000
expect.set_options(timeout=TIMEOUT_MS)

Open = Callable[..., Page]

_RECORD_VIOLATIONS = """
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
    executable = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert executable is not None, "Chromium is not installed. Install it with: make browser"
    browser = playwright_driver.chromium.launch(executable_path=executable, args=list(FLAGS))
    yield browser
    browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Open pages; fails the test if any of them logged an error."""
    opened: list[tuple[BrowserContext, Page]] = []
    complaints: list[str] = []

    def open_address(
        address: str,
        theme: str = "light",
        size: tuple[int, int] = WIDE,
        scripts: bool = True,
        expected: tuple[str, ...] = (),
        touch: bool = False,
    ) -> Page:
        context = _new_context(chromium, theme, size, scripts=scripts, touch=touch)
        if address.startswith("http"):
            remember(context, address)
        page = context.new_page()
        opened.append((context, page))
        page.on(
            "console", lambda message: _collect(complaints, message.type, message.text, expected)
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield open_address
    for context, page in opened:
        if not page.is_closed() and page.url.startswith("http"):
            complaints += page.evaluate("window.__violations ?? []")
        context.close()
    assert complaints == []


def _new_context(
    chromium: Browser, theme: str, size: tuple[int, int], *, scripts: bool, touch: bool
) -> BrowserContext:
    """Open a window of a browser that has visited nothing."""
    width, height = size
    context = chromium.new_context(
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
        timezone_id="Europe/Berlin",
        java_script_enabled=scripts,
        has_touch=touch,
    )
    context.set_default_timeout(TIMEOUT_MS)
    if scripts:
        context.add_init_script(_RECORD_VIOLATIONS)
    return context


def remember(context: BrowserContext, address: str) -> None:
    """Set the cookie of a browser that has opened the printed link before."""
    access = AccessPolicy(urlsplit(address).port or 80, load_token())
    context.add_cookies([{"name": access.cookie, "value": access.cookie_value, "url": address}])


def _collect(complaints: list[str], kind: str, text: str, expected: tuple[str, ...]) -> None:
    if kind in ("error", "warning") and not any(fragment in text for fragment in expected):
        complaints.append(f"{kind}: {text}")


@pytest.fixture(scope="session")
def served() -> Iterator[Callable[[str], Served]]:
    """Serve stores until the end of the session, each at its address."""
    running: dict[str, Served] = {}

    def served_once(store: str) -> Served:
        if store not in running:
            running[store] = serve(store)
        return running[store]

    yield served_once
    for server in running.values():
        server.stop()


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Expected]:
    """A store of completed jobs, and the expected values of the reference job."""
    store = str(tmp_path_factory.mktemp("recorded"))
    return store, fill(store)


@pytest.fixture(scope="session")
def expected(filled: tuple[str, Expected]) -> Expected:
    return filled[1]


@pytest.fixture(scope="session")
def recorded(filled: tuple[str, Expected], served: Callable[[str], Served]) -> Served:
    """The served store of recorded jobs; tests must not change it."""
    return served(filled[0])
