"""OverallSystemUsage: statistics without findings."""

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

RNG = np.random.default_rng(0)


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("OverallSystemUsage")["OverallSystemUsage"]


def test_the_distribution_of_each_metric_is_reported() -> None:
    cpu, gpu0, gpu1 = (RNG.uniform(low, low + 40, 500) for low in (5, 10, 50))
    curves = {
        "cpu.utilization_percent": cpu,
        "cpu.utilization_percent/cpu0": np.full(500, 100.0),
        "gpu.utilization_percent/gpu0": gpu0,
        "gpu.utilization_percent/gpu1": gpu1,
    }
    result = evaluate(with_machine(curves, (0, 500)))
    assert (result.status, result.triggered) == (RuleStatus.NO_ISSUES_FOUND, 0)
    both = np.concatenate([gpu0, gpu1])
    for name, values in (("cpu.utilization_percent", cpu), ("gpu.utilization_percent", both)):
        exact = np.percentile(values, (0, 50, 95, 99, 100)).tolist()
        assert result.summary[f"node-a {name}"] == pytest.approx(exact, rel=0.02)
    assert len(result.summary) == 2


def test_a_job_without_samples_has_no_summary() -> None:
    assert evaluate(FakeJob().end()).status is RuleStatus.NOT_APPLICABLE
