"""The histogram of step durations."""

from sonde.records.chart import Histogram
from tests.charts.built import built
from tests.fakes.reported import STEPS, Reported


def test_histogram_contains_every_step(reported: Reported) -> None:
    spec = built(reported, "step_histogram", Histogram)
    assert [sum(group.values) for group in spec.parts] == [STEPS, STEPS]
    assert "includes 8 steps longer than" in spec.note
