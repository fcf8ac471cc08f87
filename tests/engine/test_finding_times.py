"""No rule's finding begins with the job, unless it is about the first step."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.rules import rule_names
from sonde.rules._selection import select_rules
from tests.fakes.job import FakeJob

LEAD_SECONDS = 30.0


def faulty_job(bad: Callable[[int], bool]) -> FakeJob:
    """Return a job with many faults that starts training 30 seconds after its start."""
    job = FakeJob()
    worker = job.worker(device="cuda:0")
    rng = np.random.default_rng(0)
    job.clock.advance(LEAD_SECONDS)
    detail = {"num_workers": 0, "cores": 8}
    worker.operation("iterator start", "loading", 0.0, 0.01, lane="loader 0", detail=detail)
    for name in ("first", "last"):
        worker.add_tensor(f"gradient/{name}", "gradients").add_tensor(f"{name}.weight", "weights")
    for step in range(400):
        is_bad = bad(step)
        worker.scalar("loss", step, 50.0 + step if is_bad else 2.0 + 0.1 * rng.standard_normal())
        worker.scalar("gradient_norm", step, 1e4 if is_bad else 1.0)
        worker.scalar("learning_rate/0", step, 0.0 if is_bad else 0.1)
        worker.statistics("gradient/first", step, [1e-12] if is_bad else [1e-2])
        worker.statistics("gradient/last", step, [1e-2])
        worker.statistics("first.weight", step, [np.nan] if is_bad else [0.1])
        wait = 0.5 if is_bad else 0.01
        worker.step(step, {"data_wait": wait, "forward": 0.05})
        busy = 1.0 if is_bad else 95.0
        job.record({"gpu.utilization_percent/gpu0": [busy], "cpu.utilization_percent": [95.0]}, 0.0)
    worker.flush()
    return job.end()


@pytest.mark.parametrize("setting", ["calibrated", "classic"])
@pytest.mark.parametrize("from_step", [0, 200])
def test_no_finding_begins_with_the_job(setting: str, from_step: int) -> None:
    job = faulty_job(lambda step: step >= from_step)
    start_ns = job.job().facts.start_ns or 0
    value = {name: {"setting": setting} for name in rule_names()}
    judgement = job.job().check(*select_rules(parameters=value))
    episodes = [episode for item in judgement for episode in item.episodes]
    assert len({item.finding.rule for item in episodes}) >= 6
    early = [item.id for item in episodes if item.first_ns < start_ns + LEAD_SECONDS * 1e9]
    assert [item for item in early if not item.startswith("MaxInitializationTime")] == []


def test_findings_of_the_second_half_begin_in_it() -> None:
    job = faulty_job(lambda step: step >= 200)
    steps = job.job().steps().to_arrow()
    middle_ns = steps["time"][150].value
    for item in job.job().check("ExplodingTensor", "LossSpike", "LossDiverging"):
        assert all(episode.first_ns >= middle_ns for episode in item.episodes)
