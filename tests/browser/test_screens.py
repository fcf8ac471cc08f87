"""Large screens: charts over time use the full width."""

import pytest

from tests.browser.chart_data import chart_data, wait_until
from tests.browser.conftest import Open
from tests.browser.recorded import REFERENCE
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
    page = open_page(recorded.page(REFERENCE, where), size=LARGEST)
    chart_data(page, name)
    wait_until(page, _FILLED, name)
