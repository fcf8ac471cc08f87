"""What a chart of the page draws, as its data."""

from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import PATIENCE_MS

# Nothing is wider than the window.
FITS = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
_ASK = """
async ([name, patience]) => {
  const end = performance.now() + patience;
  for (;;) {
    const found = window.__sonde?.chart(name) ?? null;
    if (found !== null || performance.now() > end) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
"""


def drawn(page: Page, chart: str) -> Any:
    """The data of a chart, once it is there; None where it never comes."""
    page.locator(f'[data-chart="{chart}"]').first.wait_for()
    return page.evaluate(_ASK, [chart, PATIENCE_MS])


def becomes(page: Page, condition: str, argument: Any = None) -> None:
    """Waits until a function of the page says yes; it may read `window.__sonde`."""
    asked = f"""
async ([argument, patience]) => {{
  const isSo = {condition};
  const end = performance.now() + patience;
  while (!isSo(argument)) {{
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }}
  return true;
}}
"""
    assert page.evaluate(asked, [argument, PATIENCE_MS]), f"It never became so: {condition}"
