"""OverallSystemUsage: the numbers, and never a finding."""

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

RNG = np.random.default_rng(0)


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("OverallSystemUsage")["OverallSystemUsage"]


def test_the_distribution_of_each_metric_is_told() -> None:
    cpu, item, second = (RNG.uniform(low, low + 40, 500) for low in (5, 10, 50))
    curves = {
        "cpu.utilization_percent": cpu,
        "cpu.utilization_percent/cpu0": np.full(500, 100.0),
        "gpu.utilization_percent/gpu0": item,
        "gpu.utilization_percent/gpu1": second,
    }
    result = judged(with_machine(curves, (0, 500)))
    assert (result.status, result.triggered) == (RuleStatus.NO_ISSUES_FOUND, 0)
    both = np.concatenate([item, second])
    for name, values in (("cpu.utilization_percent", cpu), ("gpu.utilization_percent", both)):
        exact = np.percentile(values, (0, 50, 95, 99, 100)).tolist()
        assert result.summary[f"node-a {name}"] == pytest.approx(exact, rel=0.02)
    assert len(result.summary) == 2


def test_a_job_without_samples_has_nothing_to_say() -> None:
    assert judged(FakeJob().end()).status is RuleStatus.NOT_APPLICABLE
