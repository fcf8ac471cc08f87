"""The table of GPUs with room for a larger batch."""

import numpy as np
import pytest

from sonde.records.chart import Table
from tests.charts.built import built
from tests.fakes.reported import Reported


def test_batch_size_chart_uses_95th_percentiles(reported: Reported) -> None:
    rows = {row["gpu"]: row for row in built(reported, "batch_size", Table).records()}
    for node, samples in reported.samples.items():
        row = rows[f"{node} gpu0"]
        assert row["gpu_p95"] == pytest.approx(
            np.percentile(samples["gpu.utilization_percent/gpu0"], 95), rel=1e-6
        )
        assert row["memory_p95"] == pytest.approx(
            np.percentile(samples["gpu.memory_used_percent/gpu0"], 95), rel=1e-6
        )
