"""Straggler: planted faults and their healthy twins."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

Phases = Mapping[str, float]
BASELINE = {"data_wait": 0.01, "forward": 0.03, "backward": 0.05, "optimizer": 0.01}


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("Straggler")["Straggler"]


def together(
    extra: Callable[[int, int], Phases],
    workers: int = 4,
    steps: int = 300,
    meets_in: str = "backward",
    device: str = "cpu",
) -> FakeJob:
    """Workers that wait for the slowest of them, in one phase of every step.

    Args:
        extra: What a worker takes longer in a step.
        workers: How many there are; two on a node.
        steps: How many steps.
        meets_in: The phase in which they exchange something.
        device: Where they train.
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
        for step, all_of_them in enumerate(seconds):
            longest = max(sum(item.values()) for item in all_of_them)
            mine = dict(all_of_them[rank])
            mine[meets_in] += longest - sum(mine.values())
            worker.step(step, mine)
        worker.flush()
    return job.end()


@pytest.mark.parametrize("phase", ["data_wait", "forward", "tokenize"])
@pytest.mark.parametrize("workers", [2, 4])
def test_the_worker_that_all_wait_for_is_named_with_its_phase(phase: str, workers: int) -> None:
    job = together(lambda rank, _: {phase: 0.04 if rank == 1 else 0.0}, workers)
    [episode] = judged(job).episodes
    finding = episode.finding
    assert (finding.worker, finding.node, finding.evidence["phase"]) == (1, "node-0", phase)
    assert finding.evidence["seconds_per_step_to_win"] == pytest.approx(0.04, rel=0.2)


def test_who_gathers_parameters_in_the_forward_pass_waits_there() -> None:
    job = together(lambda rank, _: {"data_wait": 0.04 if rank == 1 else 0.0}, 2, meets_in="forward")
    [episode] = judged(job).episodes
    assert (episode.finding.worker, episode.finding.evidence["phase"]) == (1, "data_wait")


def test_on_gpus_the_hours_of_those_who_wait_are_counted() -> None:
    job = together(lambda rank, _: {"data_wait": 0.04 * (rank == 3)}, device="cuda:0")
    [episode] = judged(job).episodes
    lost = float(str(episode.finding.evidence["lost_seconds"]))
    assert episode.finding.evidence["gpu_hours_lost"] == pytest.approx(3 * lost / 3600)


def test_a_straggler_that_recovers_is_over() -> None:
    job = together(lambda rank, step: {"forward": 0.04 * (rank == 1 and step < 200)}, steps=500)
    [episode] = judged(job).episodes
    assert not episode.is_open


HEALTHY: dict[str, Callable[[int, int], Phases]] = {
    "even": lambda *_: {},
    "all are slow": lambda *_: {"data_wait": 0.1},
    "each is slow in its turn": lambda rank, step: {"data_wait": 0.1 * (step % 4 == rank)},
    "one logs a little": lambda rank, _: {"logging": 0.005 * (rank == 0)},
    "one is slow for a while": lambda rank, step: {"forward": 0.1 * (rank == 1 and step < 90)},
    "one evaluates": lambda rank, step: {"evaluation": 2.0 * (rank == 0 and step % 10 == 0)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_workers_are_left_alone(name: str) -> None:
    result = judged(together(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_one_worker_is_nobodys_straggler() -> None:
    result = judged(together(lambda *_: {}, workers=1))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_APPLICABLE,
        "the job has only one worker",
    )


def test_what_is_longer_in_the_forward_pass_is_so_in_the_backward_pass() -> None:
    def longer(device: str) -> FakeJob:
        extra = {0: 0.0, 1: 0.009}
        return together(lambda rank, _: {"forward": extra[rank]}, workers=2, device=device)

    [episode] = judged(longer("cpu")).episodes
    assert (episode.finding.worker, episode.finding.evidence["phase"]) == (1, "forward")
    assert judged(longer("cuda:0")).episodes == ()
