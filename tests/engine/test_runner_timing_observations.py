"""Rules on observations of the hook report the same findings whenever the runner advances."""

import numpy as np
import pytest

from sonde.engine.runner import Runner
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.finding import Evaluation
from sonde.rules import Rule, load_rule
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

NAMES = (
    *("ParameterNotUpdated", "NoGradient", "ReplicaDivergence", "ModeMismatch", "MissingZeroGrad"),
    *("OutputIsProbability", "SymmetricUnits", "NonFiniteInput", "InputNotNormalized"),
    *("WeightCollapse", "ValidationTooGood", "UnshuffledData", "ParameterOutlier"),
)
STEPS = 240
WEIGHTS = 0.05 * np.random.default_rng(0).standard_normal(256)
ONCE = {
    6: ("no-gradient", "front.weight", "cut", 6.0),
    7: ("unowned-parameter", "head.weight", "", 1.0),
    13: ("unmoved-parameter", "b.weight", "0.1", 10.0),
    30: ("module-mode", "Net", '{"is":"eval","modules":["drop"]}', 1.0),
    90: ("unowned-parameter", "head.weight", "over", 0.0),
    201: ("first-non-finite", "input 0", '{"found":"nan","in":"input"}', 200.0),
}


def all_rules() -> list[Rule]:
    return [load_rule(name)() for name in NAMES]


def record_inspection(worker: FakeWorker, step: int) -> None:
    """Record one inspection of a job that has all faults at the same time."""
    sizes = 0.05 if step < 100 else 1e-4
    for name in ("a.weight", "b.weight", "c.weight"):
        values = WEIGHTS * sizes
        if name == "c.weight" and step >= 150:
            values[3] = 1e6
        worker.add_tensor(name, "weights").statistics(name, step, values)
        worker.add_tensor(f"gradient/{name}", "gradients")
        worker.statistics(f"gradient/{name}", step, WEIGHTS)
    worker.add_tensor("input_0", "inputs").statistics("input_0", step, [100.0, 200.0, 50.0])
    worker.observation("kept-gradients", "0", step, {"of": 6, "first": "a.weight"}, value=6)
    rows = {"rows": 32, "classes": 10}
    worker.observation("probabilities-as-logits", "cross_entropy", step, rows, value=1)
    worker.observation("unit-copies", "a.weight", step, {"units": 64}, value=1)
    worker.observation("label-batch", "labels", step, {str(step // 40): 32}, value=32)


def train(worker: FakeWorker, step: int) -> None:
    if step in (0, 1, 2, 3, 5, 8, 12, 18) or step % 20 == 0:
        record_inspection(worker, step)
    if step in ONCE:
        kind, subject, detail, value = ONCE[step]
        worker.observation(kind, subject, step, detail, value=value)
    if step % 50 == 0:
        checksum = f"{step + worker.rank * (step > 100):08x}"
        worker.observation("replica-checksum", "Net", step, checksum, value=1)
    fingerprint = step + 1000 * worker.rank * (103 <= step < 131 or step > 200)
    worker.observation("replica-fingerprint", "Net", step, "wrapped 0 1", value=fingerprint)
    worker.observation("batch-hash", "input", step, value=step % 40)
    worker.scalar("loss", step, 2.3).step(step, {"forward": 0.1})
    if step % 40 == 39:
        for batch in range(5):
            number = step // 40 * 5 + batch
            worker.observation("batch-hash", "input", number, value=batch, mode="eval")
            worker.step(number, {"forward": 0.01}, mode="eval")
        facts = {"samples": 99, "known": 99, "repeated": 0, "pairs": 900, "mixed": 0}
        facts |= {"trained": 400, "rows": 400, "again": 390}
        worker.observation("samples-again", "input", step, facts, value=1)


def summaries(evaluations: tuple[Evaluation, ...]) -> list[tuple[object, ...]]:
    return [
        (evaluation.rule, evaluation.status, evaluation.datapoints, evaluation.episodes)
        for evaluation in evaluations
    ]


@pytest.mark.parametrize("cuts", [{11, 37, 38, 101, 219}, set(range(3, STEPS, 30))])
def test_findings_do_not_depend_on_when_the_runner_advances(cuts: set[int]) -> None:
    job = FakeJob()
    workers = [job.worker(rank, world_size=2) for rank in range(2)]
    live = Runner(JobData(OpenJob(job.backend, job.clock)), all_rules())
    for step in range(STEPS):
        start_ns = job.clock.now_ns()
        for worker in workers:
            job.clock._now_ns = start_ns
            train(worker, step)
        if step in cuts:
            for worker in workers:
                worker.flush()
            live.advance()
            stored = live.progress
            live = Runner(JobData(OpenJob(job.backend, job.clock)), all_rules(), stored)
    for worker in workers:
        worker.flush()
    job.end()
    live.advance()
    complete = Runner(JobData(OpenJob(job.backend, job.clock)), all_rules())
    complete.advance()
    assert summaries(live.evaluations) == summaries(complete.evaluations)
    silent = {evaluation.rule for evaluation in complete.evaluations if not evaluation.episodes}
    assert silent == set()
