"""Time by mode."""

import numpy as np
import pytest

from sonde.records.chart import StackedBars
from tests.charts.built import built
from tests.fakes.reported import Reported


def test_mode_times_are_means_of_the_workers(reported: Reported) -> None:
    groups = {
        group.label: group.values[0] for group in built(reported, "mode_time", StackedBars).parts
    }
    assert groups["train"] == pytest.approx(
        np.mean([reported.durations(each).sum() for each in (0, 1)])
    )
    assert groups["eval"] == pytest.approx(4 * 0.25)
