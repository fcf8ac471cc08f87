"""The heatmap of a node's processors."""

import pytest

from sonde.records.chart import Heatmap
from tests.charts.built import built
from tests.fakes.reported import Reported


def test_node_heatmap_has_a_row_per_core_and_gpu(reported: Reported) -> None:
    spec = built(reported, "node_heatmap", Heatmap)
    assert spec.rows == ("cpu0", "cpu1", "gpu0", "gpu1")
    assert spec.values[0][0] == pytest.approx(
        round(reported.samples["node-a"]["cpu.utilization_percent/cpu0"][0]), abs=1
    )
