"""Every page for everybody: axe finds nothing, nothing moves, no window scrolls sideways."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import HIGH, Open
from tests.browser.drawn import FITS, becomes
from tests.browser.recorded import DIED, FLEET, KNOWN
from tests.browser.served import Served

AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
NARROW, LARGEST = 820, 3840
PAGES = {
    "jobs": "#/",
    "compare": f"#/compare?jobs={KNOWN},{DIED}",
    "overview": f"#/jobs/{KNOWN}/overview",
    "overview of one that died": f"#/jobs/{DIED}/overview",
    "nodes": f"#/jobs/{KNOWN}/nodes?sel=40-60",
    "fleet": f"#/jobs/{FLEET}/nodes",
    "tensors": f"#/jobs/{KNOWN}/tensors?tensors=body.weight",
    "timeline": f"#/jobs/{KNOWN}/timeline",
    "rules": f"#/jobs/{KNOWN}/rules?rule=LossSpike",
}
# The browser of the tests says that its person wants no motion.
MOVING = """() => [...document.querySelectorAll("*")].filter((one) => {
  const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one);
  return parseFloat(transitionDuration) || animationName !== "none" || scrollBehavior === "smooth";
}).length + document.getAnimations().length"""
VIOLATIONS = """async () => {
  const { violations } = await axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"],
  });
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`));
}"""


def settled(page: Page) -> None:
    expect(page.locator("main [data-chart]").first).to_be_visible()
    expect(page.locator("main [data-state=loading]:visible")).to_have_count(0)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody(open_page: Open, recorded: Served, name: str) -> None:
    assert AXE.exists(), "axe-core is not here. Get it with: make ui-check"
    page = open_page(recorded.address + PAGES[name], size=HIGH)
    settled(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(VIOLATIONS) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    assert page.evaluate(VIOLATIONS) == []
    assert page.evaluate(MOVING) == 0
    for width in (NARROW, LARGEST):
        page.set_viewport_size({"width": width, "height": HIGH[1]})
        settled(page)
        becomes(page, FITS)
