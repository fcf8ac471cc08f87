"""LoadBalancing: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_gpus, with_machine


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("LoadBalancing", **parameters)["LoadBalancing"]


def busy(level: float, samples: int = 400, noise: float = 5.0) -> FloatArray:
    variation = np.random.default_rng(round(level)).normal(0, noise, samples)
    return np.asarray(np.clip(level + variation, 0, 100))


def test_a_gpu_with_less_work_than_the_others_is_named() -> None:
    gpus = {"gpu0": busy(95), "gpu1": busy(94), "gpu2": busy(40), "gpu3": busy(93)}
    [episode] = evaluate(with_gpus(gpus, (0, 400))).episodes
    assert (episode.finding.node, episode.finding.device) == ("node-a", "gpu2")
    assert episode.finding.evidence["distance"] == pytest.approx(0.54, abs=0.05)
    assert "Mean utilization is 40% on gpu2 of node-a and" in episode.finding.message


def test_gpus_of_all_nodes_are_compared() -> None:
    uri = "memory://load-balancing/job"
    nodes = [FakeJob(uri, "node-a")]
    nodes.append(FakeJob(uri, "node-b", nodes[0].clock))
    workers = [node.worker(rank, world_size=2) for rank, node in enumerate(nodes)]
    for step in range(600):
        now_ns = nodes[0].clock.now_ns()
        for node, worker, level in zip(nodes, workers, (95.0, 50.0), strict=True):
            node.clock._now_ns = now_ns
            node.record({"gpu.utilization_percent/gpu0": [level]}, 0.0, ticks_per_flush=50)
            worker.step(step, {"forward": 0.5})
    for node, worker in zip(nodes, workers, strict=True):
        worker.flush()
        node.end()
    [episode] = evaluate(nodes[0]).episodes
    assert episode.finding.node == "node-b"


HEALTHY = {
    "equal load": {"gpu0": busy(95), "gpu1": busy(93)},
    "adjacent bins": {"gpu0": busy(89, noise=0.3), "gpu1": busy(91, noise=0.3)},
    "fluctuating together": {
        name: np.where(np.arange(400) % 7 < shift, 2.0, 97.0)
        for name, shift in (("gpu0", 3), ("gpu1", 3))
    },
    "an unused GPU": {"gpu0": busy(95), "gpu1": np.zeros(400)},
    "one bad minute": {
        "gpu0": busy(95, 600),
        "gpu1": np.concatenate([busy(95, 240), busy(30, 120), busy(95, 240)]),
    },
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_gpus_are_not_reported(name: str) -> None:
    gpus = HEALTHY[name]
    result = evaluate(with_gpus(gpus, (0, len(gpus["gpu0"]))))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_gpu_used_by_another_job_is_ignored() -> None:
    curves = {f"gpu.utilization_percent/gpu{index}": busy(95 - 50 * index) for index in (0, 1)}
    curves |= {f"gpu.job_memory_bytes/gpu{item}": np.full(400, 8e9 * (1 - item)) for item in (0, 1)}
    assert not evaluate(with_machine(curves, (0, 400))).episodes


def test_a_job_with_one_gpu_is_not_applicable() -> None:
    result = evaluate(with_gpus({"gpu0": busy(50)}, (0, 400)))
    assert (result.status, result.reason) == (RuleStatus.NOT_APPLICABLE, "the job has only one GPU")


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(with_gpus({"gpu0": busy(90, 50), "gpu1": busy(20, 50)}, (0, 50)))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 47 of 60 system samples. Only samples during training count",
    )


def test_classic_setting_applies_the_documented_criterion() -> None:
    busiest = [95.0] * 8 + [5.0] * 2
    for low, distance in ((4, 0.2), (5, 0.3)):  # samples out of ten in the lowest bin
        gpus = {"gpu0": busiest, "gpu1": [95.0] * (10 - low) + [5.0] * low}
        result = evaluate(with_gpus(gpus, (0, 10)), setting="classic", threshold=0.25, patience=0)
        assert result.triggered == int(distance > 0.25)
        for episode in result.episodes:
            assert episode.finding.evidence["distance"] == pytest.approx(distance)
