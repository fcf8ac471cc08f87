"""Differences between GPUs."""

import pytest

from sonde.records.chart import Group
from tests.charts.built import built
from tests.fakes.reported import Reported


def test_different_gpus_have_a_large_distance(reported: Reported) -> None:
    spec = built(reported, "gpu_balance", Group)
    histogram, heat = spec.parts
    assert all(sum(group.values) == pytest.approx(100) for group in histogram.parts)
    rows = {
        name: dict(zip(heat.columns, row, strict=True))
        for name, row in zip(heat.rows, heat.values, strict=True)
    }
    assert rows["node-a gpu0"]["node-a gpu1"] > 0.5
    assert rows["node-a gpu1"]["node-b gpu1"] == pytest.approx(0)
