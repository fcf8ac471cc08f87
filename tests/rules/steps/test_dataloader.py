"""Dataloader: jobs with the fault and similar healthy jobs."""

import json
from collections.abc import Callable

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob, series_of


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("Dataloader", **parameters)["Dataloader"]


def trained(
    processes: int,
    wait: float,
    steps: int = 300,
    ranks: int = 1,
    copy: float = 0.0,
    **more: object,
) -> FakeJob:
    """A job on 8 cores whose steps of 0.1 s wait for `wait` and copy for `copy` seconds."""
    job = FakeJob()
    start_ns = job.clock.now_ns()
    device = str(more.pop("device", "cpu"))
    facts = {"num_workers": processes, "cores": 8, "pin_memory": False, **more}
    for rank in range(ranks):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=ranks, device=device)
        detail = json.dumps(facts)
        worker.operation("iterator start", "loading", 0.0, 0.01, lane="loader 0", detail=detail)
        worker.operation("batch", "loading", 0.1, 0.2, lane="loader 0")
        for step in range(steps):
            phases = {"data_wait": wait, "host_to_device": copy, "forward": 0.1 - wait - copy}
            worker.step(step, phases)
        worker.flush()
    return job.end()


def test_too_few_processes_are_found_if_steps_wait() -> None:
    result = evaluate(trained(1, 0.06))
    [episode] = result.episodes
    assert "node-a has too few loader processes: 1 for 8 cores (12%)" in episode.finding.message
    assert (
        "one loader process prepares it. 3 loader processes (num_workers=3) would keep up"
        in episode.finding.advice
    )
    assert episode.finding.evidence["lost_percent"] == pytest.approx(60.0)
    waits = result.summary["waiting for a batch (seconds: p50, p95, longest)"]
    assert waits == pytest.approx([0.06] * 3, rel=0.02)
    making = result.summary["making a batch (seconds: p50, p95, longest)"]
    assert making == pytest.approx([0.2] * 3, rel=0.02)


@pytest.mark.parametrize(("pressure", "is_found"), [(99.0, False), (10.0, True)])
def test_waits_due_to_cpu_contention_are_not_reported(pressure: float, is_found: bool) -> None:
    job = FakeJob()
    worker = job.worker()
    detail = json.dumps({"num_workers": 0, "cores": 2})
    worker.operation("iterator start", "loading", 0.0, 0.01, lane="loader 0", detail=detail)
    series = (series_of("process_tree.cpu_percent"), series_of("pressure.cpu_some_percent"))
    for step in range(600):
        if step % 10 == 0:
            job.writer.add_sample(job.clock.now_ns(), series, (35.0, pressure))
        worker.step(step, {"data_wait": 0.012, "forward": 0.005})
    worker.flush()
    assert bool(evaluate(job.end()).episodes) is is_found


def test_a_finding_extends_to_the_last_step() -> None:
    [episode] = evaluate(trained(1, 0.06, steps=250)).episodes
    assert (episode.first_step, episode.last_step) == (50, 249)


def test_without_loader_processes_no_share_of_cores_is_reported() -> None:
    [episode] = evaluate(trained(0, 0.06)).episodes
    assert "too few loader processes: 0 for 8 cores. Steps spend" in episode.finding.message


def test_too_many_processes_are_found_over_all_workers_of_a_node() -> None:
    [episode] = evaluate(trained(6, 0.06, ranks=4)).episodes
    assert "too many loader processes: 24 for 8 cores (300%)" in episode.finding.message
    assert "6 loader processes share 2 cores: num_workers=2 is enough" in episode.finding.advice


HEALTHY = {
    "no loader processes and short waits": trained(0, 0.01),
    "waits are short": trained(0, 0.004),
    "a small total wait": trained(0, 0.04, steps=120),
    "enough processes": trained(8, 0.06),
    "too many processes and short waits": trained(30, 0.01),
    "unpinned memory without a GPU": trained(8, 0.0, copy=0.02),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_loaders_are_not_reported(name: str) -> None:
    result = evaluate(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_unpinned_memory_is_reported_if_copies_take_time() -> None:
    [episode] = evaluate(trained(8, 0.0, copy=0.02, device="cuda:0")).episodes
    assert "unpinned memory, which takes 20% of the step time" in episode.finding.message
    assert episode.severity is Severity.INFO
    assert not evaluate(trained(8, 0.0, copy=0.001, device="cuda:0")).episodes
    assert not evaluate(trained(8, 0.0, copy=0.02, device="cuda:0", pin_memory=True)).episodes


def test_a_job_without_a_loader_is_not_applicable() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 1.0}).flush()
    result = evaluate(job.end())
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "no loading operations recorded"
    assert result.summary == {}


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(trained(0, 0.06, 20))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 10 of 15 steps after the first 10",
    )


def short(waits: Callable[[int], float], processes: int, starts: tuple[int, ...]) -> FakeJob:
    """A job of 40 steps of a few milliseconds that wait for data; on 8 cores."""
    job = FakeJob()
    worker = job.worker()
    facts = {"num_workers": processes, "cores": 8}
    for step in range(40):
        if step in starts:
            lane = "loader 0"
            worker.operation("iterator start", "loading", 0.0, 0.01, lane=lane, detail=facts)
        worker.step(step, {"data_wait": waits(step), "forward": 0.003})
    worker.flush()
    return job.end()


@pytest.mark.parametrize("processes", [0, 1])
def test_a_short_job_that_waits_for_seconds_is_reported(processes: int) -> None:
    [episode] = evaluate(short(lambda _: 0.275, processes, (0,))).episodes
    assert f"too few loader processes: {processes} for 8 cores" in episode.finding.message


SHORT_HEALTHY = {
    "slow first steps": short(lambda step: 2.0 if step < 10 else 0.001, 1, (0,)),
    "processes start slowly": short(lambda step: 9.0 if step % 20 < 2 else 0.001, 2, (0, 20)),
    "too many start slowly": short(lambda step: 9.0 if step == 20 else 0.001, 20, (0, 20)),
    "one stall": short(lambda step: 9.0 if step == 25 else 0.001, 1, (0,)),
}


@pytest.mark.parametrize("name", SHORT_HEALTHY)
def test_a_short_job_with_a_slow_loader_start_is_not_reported(name: str) -> None:
    assert evaluate(SHORT_HEALTHY[name]).episodes == ()


def test_classic_setting_applies_the_documented_criterion() -> None:
    # 70 % of 8 cores are 5.6, and 200 % are 16
    for processes, is_found in ((5, True), (6, False), (16, False), (17, True)):
        result = evaluate(trained(processes, 0.0, 20), setting="classic")
        assert bool(result.triggered) is is_found
    assert not evaluate(trained(5, 0.0, 20), setting="classic", min_threshold=60).triggered
    pinned = evaluate(trained(8, 0.0, 20, device="cuda:0"), setting="classic")
    assert [episode.finding.subject for episode in pinned.episodes] == ["node-a/pinning"]
