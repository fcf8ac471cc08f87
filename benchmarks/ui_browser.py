"""A browser and the real server, for measuring what a person waits for: until pixels are there."""

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
PATIENCE_MS = 120_000

# Data that are there when a frame begins are pixels when the next one does.
PAINTED = """
const frame = () => new Promise((done) => requestAnimationFrame(done));
const painted = frame;
const until = async (isSo, patience = 120000) => {
  const end = performance.now() + patience;
  while (!isSo()) {
    if (performance.now() > end) throw new Error("nothing came: " + isSo);
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
# Every view has asked anew and holds other data than before.
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
    """`sonde ui` in a process of its own; its address."""
    command = [sys.executable, "-m", "sonde", "ui", "--store", store, "--port", "0"]
    command.append("--no-token")  # pages are opened at any address, each in a fresh browser
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = next(one for one in process.stdout if "http://" in one)
            yield next(word for word in line.split() if word.startswith("http://"))
        finally:
            process.terminate()


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    found = next((path for name in _CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        sys.exit("There is no Chromium here. Get it with: make browser")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=list(_FLAGS))
        yield opened
        opened.close()


def fresh(browser_: Browser, height: int = 1000) -> tuple[BrowserContext, Page]:
    """A page with nothing in any cache."""
    context = browser_.new_context(viewport={"width": 1440, "height": height})
    context.set_default_timeout(PATIENCE_MS)
    return context, context.new_page()


def opening_ms(page: Page, address: str, charts: list[str]) -> float:
    """From the first byte that is asked for to the pixels of all these charts."""
    page.goto(address, wait_until="commit")
    return float(page.evaluate(_OPENED, [charts]))


def zooming_ms(page: Page, charts: list[str], key: str) -> tuple[float, float]:
    """From a key to the pixels of the new data in all these charts; and to the first answer."""
    found: list[Any] = page.evaluate(_ZOOMED, [charts, key])
    return float(found[0]), float(found[1])
