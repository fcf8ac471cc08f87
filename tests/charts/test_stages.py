"""The chart of stages."""

from itertools import pairwise

import pytest

from sonde.records.chart import Lanes, StackedBars
from tests.charts.built import built
from tests.fakes.reported import LEAD_SECONDS, Reported


def test_stages_follow_each_other_without_gaps(reported: Reported) -> None:
    [lane] = built(reported, "progress", Lanes).lanes
    assert [span.label for span in lane.spans][:2] == ["initialization", "training loop"]
    for each, second in pairwise(lane.spans):
        assert each.end == pytest.approx(second.start)
    stages = built(reported, "stages", StackedBars)
    assert stages.parts[0].values[0] == pytest.approx(LEAD_SECONDS)
