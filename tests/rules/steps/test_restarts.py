"""Findings of step rules do not depend on when the monitor refreshes or restarts."""

from collections.abc import Iterator

import numpy as np

from sonde.engine.runner import Runner
from sonde.engine.saved_progress import Progress
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.finding import Evaluation
from sonde.rules import Rule, load_rule
from sonde.store.facts import decode_facts, encode_facts
from tests.fakes.job import FakeJob

NAMES = (
    *("LossSpike", "LossDiverging", "GradientNormSpike", "LearningRateCollapse", "ClipSaturation"),
    *("LowPrecisionOverflow", "DataLoaderStarvation", "DataLoaderStall", "ThroughputDrop"),
    *("Straggler", "HotFunction", "CollectiveHang", "StepOutlier", "LossNotDecreasing"),
)
STEPS = 700


def rules() -> list[Rule]:
    return [load_rule(name)() for name in NAMES]


def grow(job: FakeJob) -> Iterator[None]:
    """Record two workers with many kinds of faults, 40 steps at a time."""
    rng = np.random.default_rng(0)
    workers = [job.worker(rank, world_size=2) for rank in (0, 1)]
    for step in range(STEPS):
        now_ns = job.clock.now_ns()
        for worker in workers:
            job.clock._now_ns = now_ns
            is_late = step > 400
            level = 9.0 if 300 < step < 330 else 1e4 if step > 550 else 0.5
            loss = level * (1 + 0.1 * rng.random())
            worker.scalar("loss", step, loss if step > 20 else 2.3)
            worker.scalar("gradient_norm", step, 9e3 if step == 444 else 1 + rng.random())
            worker.scalar("learning_rate/0", step, 0.1 * 0.9**step)
            worker.scalar("clip_factor", step, 0.001).scalar("loss_scale", step, 1024.0)
            wait = 5.0 if step == 250 else 0.06 if is_late and worker.rank else 0.001
            phases = {"data_wait": wait, "forward": 0.02, "backward": 0.03}
            rest = 0.05 if is_late else 0.0
            worker.step(step, phases, rest=rest, skipped=step % 5 == 0)
        if step % 40 == 39:
            for worker in workers:
                worker.flush()
            yield
    for worker in workers:
        worker.flush()
    job.end()
    yield


def texts(evaluations: tuple[Evaluation, ...]) -> list[tuple[object, ...]]:
    return [
        (
            evaluation.rule,
            evaluation.status,
            evaluation.datapoints,
            evaluation.triggered,
            evaluation.reason,
            evaluation.episodes,
        )
        for evaluation in evaluations
    ]


def test_findings_do_not_depend_on_refreshes_and_restarts() -> None:
    job = FakeJob()
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), rules())
    for _ in grow(job):
        runner.advance()
        stored = decode_facts(Progress, encode_facts(runner.progress), "progress")
        runner = Runner(JobData(OpenJob(job.backend, job.clock)), rules(), stored)
    runner.advance()
    afterwards = Runner(JobData(OpenJob(job.backend, job.clock)), rules())
    afterwards.advance()
    assert texts(runner.evaluations) == texts(afterwards.evaluations)
    fired = {evaluation.rule for evaluation in afterwards.evaluations if evaluation.episodes}
    assert fired >= {
        *("LossSpike", "LossDiverging", "GradientNormSpike", "LearningRateCollapse"),
        *("ClipSaturation", "LowPrecisionOverflow", "DataLoaderStarvation", "DataLoaderStall"),
        *("ThroughputDrop", "Straggler"),
    }
