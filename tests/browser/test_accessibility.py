"""Accessibility of all pages: no axe violations, no motion, no horizontal scrolling."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chart_data import FITS, wait_until
from tests.browser.conftest import HIGH, Open
from tests.browser.recorded import FAILED, FLEET, REFERENCE
from tests.browser.served import Served

AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
PHONE, NARROW, LARGEST = 390, 820, 3840
PAGES = {
    "jobs": "#/",
    "compare": f"#/compare?jobs={REFERENCE},{FAILED}",
    "overview": f"#/jobs/{REFERENCE}/overview",
    "overview of a failed job": f"#/jobs/{FAILED}/overview",
    "nodes": f"#/jobs/{REFERENCE}/nodes?sel=40-60",
    "fleet": f"#/jobs/{FLEET}/nodes",
    "tensors": f"#/jobs/{REFERENCE}/tensors?tensors=body.weight",
    "timeline": f"#/jobs/{REFERENCE}/timeline",
    "finding": f"#/jobs/{REFERENCE}/finding?id=LossSpike:loss:1",
    "rules": f"#/jobs/{REFERENCE}/rules?rule=LossSpike",
}
# The test browser requests reduced motion.
MOVING = """() => [...document.querySelectorAll("*")].filter((element) => {
  const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
  return parseFloat(transitionDuration) || animationName !== "none" || scrollBehavior === "smooth";
}).length + document.getAnimations().length"""
VIOLATIONS = """async () => {
  const { violations } = await axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"],
  });
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`));
}"""


def wait_until_loaded(page: Page) -> None:
    expect(page.locator("main [data-chart]").first).to_be_visible()
    expect(page.locator("main [data-state=loading]:visible")).to_have_count(0)


@pytest.mark.parametrize("name", PAGES)
def test_page_is_accessible_in_both_themes_and_all_widths(
    open_page: Open, recorded: Served, name: str
) -> None:
    assert AXE.exists(), "axe-core is not installed. Install it with: make ui-check"
    page = open_page(recorded.address + PAGES[name], size=HIGH)
    wait_until_loaded(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(VIOLATIONS) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    assert page.evaluate(VIOLATIONS) == []
    assert page.evaluate(MOVING) == 0
    for width in (PHONE, NARROW, LARGEST):
        page.set_viewport_size({"width": width, "height": HIGH[1]})
        wait_until_loaded(page)
        wait_until(page, FITS)
