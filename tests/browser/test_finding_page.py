"""Findings: their page with the charts that show them, and their marks on charts."""

import re

from playwright.sync_api import Page, expect

from sonde.client.job import open_job
from tests.browser.chart_data import chart_data, wait_until
from tests.browser.conftest import Open
from tests.browser.recorded import REFERENCE, SPIKED, Expected
from tests.browser.served import Served

READBACK = ("willReadFrequently",)  # advice of Chromium to this test, which reads pixels
# The share of the width at which a column of the chart has the color of a warning; -1 if none has.
_MARKED = """([chart, plot]) => {
  const probe = document.createElement("span");
  probe.style.color = "var(--warn)";
  document.body.append(probe);
  const [red, green, blue] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  const canvas = document.querySelector(`[data-chart="${chart}"] canvas`);
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const warm = (red - blue) / 255;
  for (let x = Math.round(plot[0] * width); x < plot[1] * width; x++) {
    let count = 0;
    for (let y = 0; y < height; y += 4) {
      const at = 4 * (y * width + x);
      const [r, b, a] = [data[at], data[at + 2], data[at + 3]];
      if (a > 20 && r - b > 40 * warm) count += 1;
    }
    if (count > height / 8) return x / width;
  }
  return -1;
}"""


def spike(store: str) -> str:
    """The id of the finding about the planted spike."""
    rules = open_job(f"{store}/{REFERENCE}").summary["rules"]
    (finding,) = next(entry["findings"] for entry in rules if entry["rule"] == "LossSpike")
    identifier: str = finding["id"]
    return identifier


def marked_at(page: Page, chart: str) -> float:
    share: float = page.evaluate(_MARKED, [chart, [0.05, 0.95]])
    return share


def test_the_link_of_a_loss_spike_opens_a_page_that_shows_it(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    page.locator(".strip").get_by_role("link", name="LossSpike").click()
    expect(page).to_have_url(re.compile(r"/finding\?id=LossSpike"))
    expect(page.get_by_role("heading", name="LossSpike", exact=True)).to_be_visible()
    spec = chart_data(page, "losses")
    values = dict(zip(spec["x"], spec["curves"][0]["values"], strict=True))
    assert values[SPIKED] == expected.losses[SPIKED]
    assert spec["x"][0] >= SPIKED - 60
    expect(page.locator('[data-chart="learning_rate"]')).to_be_visible()
    expect(page.get_by_label("Evidence")).to_contain_text("peak")
    expect(page.get_by_role("heading", name="What to do")).to_be_visible()
    assert marked_at(page, "losses") > 0


def test_the_page_of_a_finding_is_a_permalink(
    open_page: Open, recorded: Served, filled: tuple[str, Expected]
) -> None:
    address = recorded.page(REFERENCE, "finding", f"id={spike(filled[0])}")
    page = open_page(address)
    expect(page.locator(".finding-card")).to_contain_text("jumped")
    page.get_by_role("link", name="Show on Nodes").click()
    expect(page).to_have_url(re.compile(r"/nodes\?.*sel="))
    page.go_back()
    expect(page.locator(".finding-card")).to_contain_text("jumped")
    unknown = open_page(recorded.page(REFERENCE, "finding", "id=Gone:1"))
    expect(unknown.get_by_text("no finding “Gone:1”")).to_be_visible()
    unknown.get_by_role("link", name="Show all findings").click()
    expect(unknown.locator("main")).to_contain_text("Rules and findings")


def test_findings_are_drawn_on_charts_over_time_and_steps(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"), expected=READBACK)
    bars = chart_data(page, "findings-track")
    assert "LossSpike" in {bar["mark"]["rule"] for bar in bars}
    mark = next(bar["mark"] for bar in bars if bar["mark"]["rule"] == "LossSpike")
    chart_data(page, "system")
    wait_until(page, f"() => ({_MARKED})(['system', [0.05, 0.95]]) > 0")
    start, end = page.evaluate("__sonde.view")
    width = page.locator('[data-chart="system"]').bounding_box()["width"]  # type: ignore[index]
    position = (mark["range"][0] - start) / (end - start)
    left = (76 + position * (width - 76 - 124)) / width
    assert page.evaluate(_MARKED, ["system", [left - 0.01, left + 0.01]]) > 0
    overview = open_page(recorded.page(REFERENCE, "overview"), expected=READBACK)
    chart_data(overview, "losses")
    wait_until(overview, f"() => ({_MARKED})(['losses', [0.05, 0.95]]) > 0")


def test_a_click_on_a_bar_of_the_track_opens_the_finding(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    bars = chart_data(page, "findings-track")
    bar = next(bar for bar in bars if bar["mark"]["rule"] == "LossSpike")
    start, end = page.evaluate("__sonde.view")
    track = page.locator('[data-chart="findings-track"]')
    width = track.bounding_box()["width"]  # type: ignore[index]
    middle = sum(bar["mark"]["range"]) / 2
    x = 76 + (middle - start) / (end - start) * (width - 76 - 124)
    track.hover(position={"x": x, "y": 18 * bar["row"] + 9})
    expect(track.locator(".tip")).to_contain_text("LossSpike")
    track.click(position={"x": x, "y": 18 * bar["row"] + 9})
    expect(page).to_have_url(re.compile("/finding"))


def test_page_compares_the_finding_with_the_rest_of_the_job(
    open_page: Open, recorded: Served, filled: tuple[str, Expected]
) -> None:
    page = open_page(recorded.page(REFERENCE, "finding", f"id={spike(filled[0])}"))
    comparison = page.get_by_label("Comparison with the rest of the job")
    expect(comparison).to_contain_text("during the finding")
    expect(comparison).to_contain_text("otherwise")
