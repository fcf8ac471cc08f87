"""The utilization of each GPU."""

import numpy as np
import pytest

from sonde.charts.gpu_usage import GpuUsage
from sonde.records.chart import BoxPlot
from tests.charts.built import built
from tests.fakes.job import FakeJob
from tests.fakes.reported import Reported


def test_boxes_are_percentiles_of_each_gpu(reported: Reported) -> None:
    boxes = {box.label: box for box in built(reported, "gpu_usage", BoxPlot).boxes}
    assert len(boxes) == 4
    for node, samples in reported.samples.items():
        box = boxes[f"{node} gpu0"]
        values = samples["gpu.utilization_percent/gpu0"]
        numbers = (box.p5, box.p25, box.p50, box.p75, box.p95)
        assert numbers == pytest.approx(np.percentile(values, (5, 25, 50, 75, 95)), rel=1e-6)


def test_of_many_gpus_the_least_used_comes_first() -> None:
    curves = {
        f"gpu.utilization_percent/gpu{number}": [27.0 if number == 17 else 90.0 + number / 10] * 8
        for number in range(40)
    }
    spec = GpuUsage().build(FakeJob().record(curves).end().job())
    assert isinstance(spec, BoxPlot)
    assert [box.label for box in spec.boxes[:3]] == ["gpu17", "gpu0", "gpu1"]
    assert "32 least used of 40 GPUs" in spec.coarsened
