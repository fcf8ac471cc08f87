"""Data of the charts on a page, and conditions to wait for."""

from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import TIMEOUT_MS

# Nothing is wider than the viewport.
FITS = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
_POLL_CHART = """
async ([name, timeout]) => {
  const end = performance.now() + timeout;
  for (;;) {
    const data = window.__sonde?.chart(name) ?? null;
    if (data !== null || performance.now() > end) return data;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
"""


def chart_data(page: Page, chart: str) -> Any:
    """The data of a chart once it is loaded; None after a timeout."""
    page.locator(f'[data-chart="{chart}"]').first.wait_for()
    return page.evaluate(_POLL_CHART, [chart, TIMEOUT_MS])


def wait_until(page: Page, condition: str, argument: Any = None) -> None:
    """Wait until a JavaScript function returns true; it can read `window.__sonde`."""
    script = f"""
async ([argument, timeout]) => {{
  const isTrue = {condition};
  const end = performance.now() + timeout;
  while (!isTrue(argument)) {{
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }}
  return true;
}}
"""
    assert page.evaluate(script, [argument, TIMEOUT_MS]), f"Timed out waiting for: {condition}"
