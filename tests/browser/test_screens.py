"""The largest screens: charts over time get all of it."""

import pytest

from tests.browser.conftest import Open
from tests.browser.drawn import becomes, drawn
from tests.browser.recorded import KNOWN
from tests.browser.served import Served

LARGEST = (3840, 2160)
_FILLED = """(name) => {
  const [drawing] = document.querySelectorAll(`[data-chart="${name}"] canvas`);
  return drawing.clientWidth > 0.95 * innerWidth;
}"""


@pytest.mark.parametrize("chart", ["nodes cpu", "timeline trace-worker-0"])
def test_charts_over_time_fill_the_largest_screen(
    open_page: Open, recorded: Served, chart: str
) -> None:
    where, name = chart.split()
    page = open_page(recorded.page(KNOWN, where), size=LARGEST)
    drawn(page, name)
    becomes(page, _FILLED, name)
