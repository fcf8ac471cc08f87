"""A browser and a real server, to measure the time until charts are drawn."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    *(
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--enable-precise-memory-info",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
TIMEOUT_MS = 120_000

# Data that is available when a frame starts is drawn when the next one starts.
PAINTED = """
const frame = () => new Promise((done) => requestAnimationFrame(done));
const painted = frame;
const until = async (condition, timeout = 120000) => {
  const end = performance.now() + timeout;
  while (!condition()) {
    if (performance.now() > end) throw new Error("timeout: " + condition);
    await frame();
  }
};
"""
_OPENED = f"""async ([names]) => {{
  {PAINTED}
  await until(() => window.__sonde && names.every((name) => window.__sonde.chart(name)));
  await painted();
  return performance.now();
}}"""
# Every view has requested and received new data.
_ZOOMED = f"""async ([names, key]) => {{
  {PAINTED}
  const marks = (name) => {{
    const data = window.__sonde.chart(name);
    return data.heat ?? data.x ?? data.lanes ?? data;
  }};
  const before = names.map(marks);
  const began = performance.now();
  window.dispatchEvent(new KeyboardEvent("keydown", {{ key }}));
  await frame();
  const first = performance.now() - began;
  await until(() => names.every((name, i) => marks(name) !== before[i]));
  await painted();
  return [performance.now() - began, first];
}}"""


@contextmanager
def dashboard(store: str) -> Iterator[str]:
    """Start `sonde ui` and yield its address."""
    command = [sys.executable, "-m", "sonde", "ui", "--store", store, "--port", "0"]
    command.append("--no-token")  # every page is opened in a new browser
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = next(text for text in process.stdout if "http://" in text)
            yield next(word for word in line.split() if word.startswith("http://"))
        finally:
            process.terminate()


@contextmanager
def browser() -> Iterator[Browser]:
    """Start headless Chromium."""
    executable = next((path for name in _CHROMIUM if (path := shutil.which(name))), None)
    if executable is None:
        sys.exit("Chromium is not installed. Run: make browser")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=executable, args=list(_FLAGS))
        yield opened
        opened.close()


def fresh(browser_: Browser, height: int = 1000) -> tuple[BrowserContext, Page]:
    """Open a page with empty caches."""
    context = browser_.new_context(viewport={"width": 1440, "height": height})
    context.set_default_timeout(TIMEOUT_MS)
    return context, context.new_page()


def opening_ms(page: Page, address: str, charts: list[str]) -> float:
    """Return the time from navigation until all charts are drawn."""
    page.goto(address, wait_until="commit")
    return float(page.evaluate(_OPENED, [charts]))


def zooming_ms(page: Page, charts: list[str], key: str) -> tuple[float, float]:
    """Return the times from a key press to the redrawn charts and to the first response."""
    durations: list[Any] = page.evaluate(_ZOOMED, [charts, key])
    return float(durations[0]), float(durations[1])
