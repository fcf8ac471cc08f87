"""Phases of normal steps and of outliers."""

import numpy as np
import pytest

from sonde.records.chart import StackedBars
from tests.charts.built import built
from tests.fakes.reported import PHASES, STEPS, Reported


def test_normal_steps_and_outliers_are_split_by_phase(reported: Reported) -> None:
    spec = built(reported, "outlier_phases", StackedBars)
    is_outlier = np.zeros(STEPS, dtype=np.bool_)
    is_outlier[::25] = True
    normal = np.concatenate([reported.phases[0], reported.phases[1][~is_outlier]])
    for group, index in zip(spec.parts, range(len(PHASES)), strict=False):
        expected = (normal[:, index].mean(), reported.phases[1][is_outlier][:, index].mean())
        assert group.values == pytest.approx(expected)
