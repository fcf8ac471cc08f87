"""The utilization of each GPU."""

import numpy as np
import pytest

from sonde.records.chart import BoxPlot
from tests.charts.built import built
from tests.fakes.reported import Reported


def test_boxes_are_percentiles_of_each_gpu(reported: Reported) -> None:
    boxes = {box.label: box for box in built(reported, "gpu_usage", BoxPlot).boxes}
    assert len(boxes) == 4
    for node, samples in reported.samples.items():
        box = boxes[f"{node} gpu0"]
        values = samples["gpu.utilization_percent/gpu0"]
        numbers = (box.p5, box.p25, box.p50, box.p75, box.p95)
        assert numbers == pytest.approx(np.percentile(values, (5, 25, 50, 75, 95)), rel=1e-6)
