"""GPU memory over time."""

import pytest

from sonde.charts import CHARTS
from sonde.records.chart import LineChart
from tests.charts.built import built
from tests.fakes.job import FakeJob
from tests.fakes.reported import Reported


def test_gpu_memory_of_all_nodes_shares_a_time_axis() -> None:
    first = FakeJob().record({"gpu.memory_used_percent/gpu0": [10.0] * 20})
    late = FakeJob(first.backend.uri, "node-b", first.clock)
    late.record({"gpu.memory_used_percent/gpu0": [60.0] * 40})
    spec = CHARTS.load("gpu_memory")().build(late.job())
    assert isinstance(spec, LineChart)
    for curve, (begin, end) in zip(spec.curves, ((0, 10), (10, 30)), strict=True):
        drawn = [at for at, value in zip(spec.x, curve.values, strict=True) if value in (10, 60)]
        assert drawn[0] == pytest.approx(begin, abs=1)
        assert drawn[-1] == pytest.approx(end, abs=1)


def test_growing_gpu_memory_is_visible(reported: Reported) -> None:
    spec = built(reported, "gpu_memory", LineChart)
    first = [value for value in spec.curves[0].values if value is not None]
    assert first[0] == pytest.approx(20, abs=1)
    assert first[-1] == pytest.approx(50, abs=1)
