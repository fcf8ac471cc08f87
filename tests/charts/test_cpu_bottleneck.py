"""Idle GPUs while CPUs are busy, by phase."""

import numpy as np
import pytest

from sonde.charts import CHARTS
from sonde.records.chart import Group, StackedBars
from tests.charts.built import built
from tests.fakes.job import FakeJob
from tests.fakes.reported import GPUS, Reported


def test_bottlenecks_are_counted_sample_by_sample(reported: Reported) -> None:
    spec = built(reported, "cpu_bottleneck", Group)
    rows = {row["node"]: row for row in spec.parts[0].records()}
    for node, samples in reported.samples.items():
        gpus = np.mean([samples[f"gpu.utilization_percent/{gpu}"] for gpu in GPUS], axis=0)
        is_low = gpus < 10
        held_up = is_low & (samples["cpu.utilization_percent"] > 90)
        assert rows[node]["low"] == pytest.approx(100 * is_low.mean())
        assert rows[node]["held_up"] == pytest.approx(100 * held_up.mean())
    by_phase = spec.parts[2]
    assert sum(value for group in by_phase.parts for value in group.values) == pytest.approx(100)


def test_idle_gpus_before_the_first_step_count_as_between() -> None:
    job = FakeJob()
    job.worker()
    curves = {"gpu.utilization_percent/gpu0": [0.0] * 8, "cpu.utilization_percent": [99.0] * 8}
    spec = CHARTS.load("cpu_bottleneck")().build(job.record(curves).job())
    assert isinstance(spec, Group)
    by_phase = spec.parts[2]
    assert isinstance(by_phase, StackedBars)
    assert [(group.label, group.values[0]) for group in by_phase.parts] == [("between", 100.0)]
