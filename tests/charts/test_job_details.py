"""The table of facts about a job: durations add up."""

import pytest

from sonde.records.chart import Facts
from tests.charts.built import built
from tests.fakes.reported import LEAD_SECONDS, Reported


def test_stage_durations_add_up_to_the_job_duration(reported: Reported) -> None:
    spec = built(reported, "job_details", Facts)
    facts = {fact.name: fact.value for fact in spec.facts}
    assert len(facts) == 12
    assert facts["cost"] == "8 min of GPU time"
    groups = [
        facts[f"{stage}_duration"] for stage in ("initialization", "training_loop", "finalization")
    ]
    assert sum(groups) == pytest.approx(facts["job_duration"])
    assert facts["initialization_duration"] == pytest.approx(LEAD_SECONDS)
    loop = max(reported.durations(worker).sum() + 4 * 0.25 for worker in (0, 1))
    assert facts["training_loop_duration"] == pytest.approx(loop - 0.25, abs=1e-3)
    shares = [
        facts[f"{stage}_percent"] for stage in ("initialization", "training_loop", "finalization")
    ]
    assert sum(shares) == pytest.approx(100)
