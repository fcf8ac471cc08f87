"""Straggler: jobs with the fault and similar healthy jobs."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

Phases = Mapping[str, float]
BASELINE = {"data_wait": 0.01, "forward": 0.03, "backward": 0.05, "optimizer": 0.01}


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("Straggler")["Straggler"]


def together(
    extra: Callable[[int, int], Phases],
    workers: int = 4,
    steps: int = 300,
    meets_in: str = "backward",
    device: str = "cpu",
) -> FakeJob:
    """A job whose workers wait for the slowest one in a phase of every step.

    Args:
        extra: Additional seconds of a worker in a step, by phase.
        workers: The number of workers, two per node.
        steps: The number of steps.
        meets_in: The phase in which workers wait for each other.
        device: The device of all workers.
    """
    job = FakeJob()
    start_ns = job.clock.now_ns()
    rng = np.random.default_rng(0)
    seconds = [
        [
            {
                phase: BASELINE.get(phase, 0.0) * float(np.exp(0.05 * rng.standard_normal()))
                + extra(rank, step).get(phase, 0.0)
                for phase in (*BASELINE, *extra(rank, step).keys() - BASELINE.keys())
            }
            for rank in range(workers)
        ]
        for step in range(steps)
    ]
    for rank in range(workers):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=workers, device=device, node=f"node-{rank // 2}")
        for step, phases_by_rank in enumerate(seconds):
            longest = max(sum(phases.values()) for phases in phases_by_rank)
            phases = dict(phases_by_rank[rank])
            phases[meets_in] += longest - sum(phases.values())
            worker.step(step, phases)
        worker.flush()
    return job.end()


@pytest.mark.parametrize("phase", ["data_wait", "forward", "tokenize"])
@pytest.mark.parametrize("workers", [2, 4])
def test_the_slowest_worker_is_named_with_its_phase(phase: str, workers: int) -> None:
    job = together(lambda rank, _: {phase: 0.04 if rank == 1 else 0.0}, workers)
    [episode] = evaluate(job).episodes
    finding = episode.finding
    assert (finding.worker, finding.node, finding.evidence["phase"]) == (1, "node-0", phase)
    assert finding.evidence["seconds_per_step_to_win"] == pytest.approx(0.04, rel=0.2)


def test_gathering_parameters_in_the_forward_pass_is_not_reported() -> None:
    job = together(lambda rank, _: {"data_wait": 0.04 if rank == 1 else 0.0}, 2, meets_in="forward")
    [episode] = evaluate(job).episodes
    assert (episode.finding.worker, episode.finding.evidence["phase"]) == (1, "data_wait")


def test_gpu_hours_of_waiting_workers_are_reported() -> None:
    job = together(lambda rank, _: {"data_wait": 0.04 * (rank == 3)}, device="cuda:0")
    [episode] = evaluate(job).episodes
    lost = float(str(episode.finding.evidence["lost_seconds"]))
    assert episode.finding.evidence["gpu_hours_lost"] == pytest.approx(3 * lost / 3600)


def test_a_straggler_that_recovers_is_resolved() -> None:
    job = together(lambda rank, step: {"forward": 0.04 * (rank == 1 and step < 200)}, steps=500)
    [episode] = evaluate(job).episodes
    assert not episode.is_open


HEALTHY: dict[str, Callable[[int, int], Phases]] = {
    "even": lambda *_: {},
    "all are slow": lambda *_: {"data_wait": 0.1},
    "workers are slow in turn": lambda rank, step: {"data_wait": 0.1 * (step % 4 == rank)},
    "one logs for a short time": lambda rank, _: {"logging": 0.005 * (rank == 0)},
    "one is slow temporarily": lambda rank, step: {"forward": 0.1 * (rank == 1 and step < 90)},
    "one evaluates": lambda rank, step: {"evaluation": 2.0 * (rank == 0 and step % 10 == 0)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_workers_are_not_reported(name: str) -> None:
    result = evaluate(together(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_single_worker_is_not_applicable() -> None:
    result = evaluate(together(lambda *_: {}, workers=1))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_APPLICABLE,
        "the job has only one worker",
    )


def test_a_longer_forward_pass_counts_for_the_backward_pass() -> None:
    def longer(device: str) -> FakeJob:
        extra = {0: 0.0, 1: 0.009}
        return together(lambda rank, _: {"forward": extra[rank]}, workers=2, device=device)

    [episode] = evaluate(longer("cpu")).episodes
    assert (episode.finding.worker, episode.finding.evidence["phase"]) == (1, "forward")
    assert evaluate(longer("cuda:0")).episodes == ()
