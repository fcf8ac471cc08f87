"""The table of time by phase."""

import numpy as np
import pytest

from sonde.records.chart import Table
from tests.charts.built import built
from tests.fakes.reported import PHASES, Reported


def test_phase_shares_match_numpy(reported: Reported) -> None:
    rows = {row["phase"]: row for row in built(reported, "phase_time", Table).records()}
    spent = np.concatenate([reported.phases[0], reported.phases[1]])
    for index, phase in enumerate(PHASES):
        row = rows[phase.replace("_", " ")]
        assert row["total"] == pytest.approx(spent[:, index].sum())
        assert row["percent"] == pytest.approx(100 * spent[:, index].sum() / spent.sum())
        assert row["p95"] == pytest.approx(np.percentile(spent[:, index], 95))
