"""OverallFrameworkMetrics: statistics without findings."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("OverallFrameworkMetrics")["OverallFrameworkMetrics"]


def test_time_is_reported_by_mode_phase_and_operator() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        if step == 10:
            worker.operation("aten::mm", "operator", 0.1, 0.3)
            worker.operation("gemm", "kernel", 0.2, 0.2, device="cuda:0")
            worker.operation("cudaLaunchKernel", "runtime", 0.2, 0.05)
        phases = {"data_wait": 0.2, "forward": 0.5, "backward": 0.3}
        worker.step(step, phases, profiled=step == 10)
        job.clock.advance(0.1)
    for step in range(20):
        worker.step(step, {"forward": 1.0}, mode="eval")
    worker.flush()
    job.clock.advance(10.0)
    job.record({"cpu.utilization_percent": [1.0]}, 0.0)
    result = evaluate(job.end())
    assert (result.status, result.triggered) == (RuleStatus.NO_ISSUES_FOUND, 0)
    expected = {
        "train seconds": 100.0,
        "eval seconds": 20.0,
        "other seconds": 20.0,
        "train percent": 100 / 1.4,
        "phase forward seconds": 50.0,
        "phase backward seconds": 30.0,
        "phase data_wait seconds": 20.0,
        "profiled CPU operators seconds": 0.3,
        "profiled GPU operators seconds": 0.2,
        "profiled framework events seconds": 0.05,
    }
    assert {name: result.summary[name] for name in expected} == pytest.approx(expected, rel=0.01)


def test_a_job_without_steps_has_no_summary() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [1.0] * 10})
    assert evaluate(job.end()).status is RuleStatus.NOT_APPLICABLE
