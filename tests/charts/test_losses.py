"""The chart of losses."""

import pytest

from sonde.records.chart import LineChart
from tests.charts.built import built
from tests.fakes.reported import STEPS, Reported


def test_losses_are_the_mean_of_the_workers(reported: Reported) -> None:
    spec = built(reported, "losses", LineChart)
    assert spec.x == tuple(range(STEPS))
    assert spec.curves[0].values == pytest.approx(reported.losses)
    assert f"{reported.losses[-1]:.4g} at step {STEPS - 1}" in spec.note
