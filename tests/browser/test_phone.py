"""Pages on a phone: names are readable, and charts use the width."""

import pytest
from playwright.sync_api import expect

from tests.browser.chart_data import chart_data
from tests.browser.conftest import Open
from tests.browser.recorded import FAILED, FLEET, REFERENCE
from tests.browser.served import Served

PHONE = (390, 844)
# The columns of a canvas with the color of lines, first and last, as shares of the width.
_PLOT = """(canvas) => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const used = [];
  for (let x = 0; x < width; x++)
    for (let y = 0; y < height; y++) {
      const [r, g, b] = data.slice(4 * (y * width + x), 4 * (y * width + x) + 3);
      if (data[4 * (y * width + x) + 3] > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 90) {
        used.push(x / width);
        break;
      }
    }
  return used.length > 0 && [used[0], used.at(-1)];
}"""


def test_the_list_of_jobs_shows_whole_names_states_and_findings(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.address, size=PHONE)
    for job in (REFERENCE, FAILED, FLEET):
        row = page.locator(f'[data-job="{job}"]')
        link = row.get_by_role("link", name=job)
        box = link.bounding_box()
        assert box is not None
        assert box["width"] > 6 * len(job)
        assert box["x"] + box["width"] < PHONE[0]
        expect(row.locator(".col-state")).to_be_visible()
        expect(row.locator(".col-findings")).to_be_visible()
    page.get_by_role("button", name="Started").click()
    page.get_by_role("link", name=REFERENCE).click()
    expect(page.locator("h1")).to_contain_text(REFERENCE)


@pytest.mark.parametrize("chart", ["cpu", "heatmap"])
def test_charts_use_most_of_the_width(open_page: Open, recorded: Served, chart: str) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"), size=PHONE)
    chart_data(page, chart)
    canvas = page.locator(f'[data-chart="{chart}"] canvas').element_handle()
    first, last = page.wait_for_function(_PLOT, arg=canvas).json_value()  # once it is drawn
    width = page.locator(f'[data-chart="{chart}"]').bounding_box()["width"]  # type: ignore[index]
    assert (last - first) * width > 0.65 * PHONE[0]


def test_values_of_lines_are_below_the_chart(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"), size=PHONE)
    chart_data(page, "system")
    panel = page.locator('[data-chart="system"]')
    plot = panel.locator(".uplot").bounding_box()
    values = panel.locator(".readout").bounding_box()
    assert plot is not None
    assert values is not None
    assert values["y"] >= plot["y"] + plot["height"] - 1
