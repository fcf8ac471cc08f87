"""The heatmap of all nodes."""

from sonde.records.chart import Heatmap
from tests.charts.built import built
from tests.fakes.reported import Reported


def test_fleet_chart_has_a_row_per_node(reported: Reported) -> None:
    assert set(built(reported, "fleet", Heatmap).rows) == {"node-a", "node-b"}
