"""The table of the longest steps."""

import pytest

from sonde.records.chart import Table
from tests.charts.built import built
from tests.fakes.reported import STEPS, Reported


def test_outliers_are_listed_with_their_slowest_phase(reported: Reported) -> None:
    rows = built(reported, "step_outliers", Table).records()
    assert {row["step"] for row in rows} == set(range(0, STEPS, 25))
    assert {row["phase"] for row in rows} == {"data wait"}
    for row in rows:
        assert row["seconds"] == pytest.approx(reported.durations(1)[row["step"]])
