"""A job with everything that a report shows, and the numbers behind it."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sonde.client.job import Job
from sonde.clock import NANOSECONDS
from sonde.records.arrays import FloatArray
from sonde.records.metric import Series
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob, series_of

TICKS = 240
TICK_SECONDS = 0.5
STEPS = 200
PHASES = ("data_wait", "forward", "backward", "optimizer")
GPUS = ("gpu0", "gpu1")
LEAD_SECONDS = 4.0


@dataclass
class Reported:
    """A finished job of two nodes with a worker and two GPUs each."""

    jobs: list[FakeJob]
    phases: dict[int, FloatArray]  # by worker: seconds as (step, phase)
    samples: dict[str, dict[str, FloatArray]]  # by node and series
    losses: FloatArray
    gradients: dict[str, list[FloatArray]] = field(default_factory=dict)

    @property
    def job(self) -> Job:
        """Return the job as the Python API opens it."""
        return self.jobs[0].job()

    def durations(self, worker: int) -> FloatArray:
        """Return the durations of the training steps of a worker."""
        return np.asarray(self.phases[worker].sum(axis=1))


def reported_job(uri: str = "", name: str = "node", *, is_over: bool = True) -> Reported:
    """Return a job of two nodes; some steps of the second worker wait long for data."""
    first = FakeJob(uri, f"{name}-a")
    second = FakeJob(first.backend.uri, f"{name}-b", first.clock)
    reported = Reported([first, second], {}, {}, np.empty(0))
    random = np.random.default_rng(4)
    reported.losses = 2.0 * 0.99 ** np.arange(STEPS) + 0.01 * random.standard_normal(STEPS)
    for rank, job in enumerate(reported.jobs):
        _move(job, LEAD_SECONDS)
        reported.phases[rank] = _train(job, rank, reported, random)
    for job in reported.jobs:
        _move(job, 0.0)
        reported.samples[job.node] = _sample(job, random)
    for job in reported.jobs if is_over else ():
        job.end()
    return reported


def _train(job: FakeJob, rank: int, reported: Reported, random: np.random.Generator) -> FloatArray:
    worker = job.worker(rank, device=f"cuda:{rank}", world_size=2)
    spent = np.abs(
        np.array([0.01, 0.1, 0.2, 0.03]) * (1 + 0.05 * random.standard_normal((STEPS, 4)))
    )
    if rank:
        spent[::25, 0] += 1.0
    spent = np.asarray(np.round(spent, 6), dtype=np.float64)
    for layer in ("first.weight", "last.weight"):
        worker.add_tensor(f"gradient/{layer}", "gradients")
    for step in range(STEPS):
        worker.scalar("loss", step, float(reported.losses[step]))
        if step % 20 == 0:
            for layer in ("first.weight", "last.weight"):
                values = random.standard_normal(8) * (1.0 if layer == "first.weight" else 1e-3)
                worker.statistics(f"gradient/{layer}", step, values)
                reported.gradients.setdefault(f"{rank}/{layer}", []).append(values)
        worker.step(step, dict(zip(PHASES, spent[step].tolist(), strict=True)))
        if step % 50 == 49:
            worker.step(step // 50, {"forward": 0.25}, mode="eval")
    worker.flush()
    return np.asarray(spent, dtype=np.float64)


def _sample(job: FakeJob, random: np.random.Generator) -> dict[str, FloatArray]:
    def around(level: float, spread: float) -> FloatArray:
        values: FloatArray = np.clip(level + spread * random.standard_normal(TICKS), 0, 100)
        return np.array(values.astype(np.float32).tolist())  # with the precision of the store

    curves: dict[str, Any] = {
        "cpu.utilization_percent": around(60, 20),
        "cpu.iowait_percent": around(5, 3),
        "memory.used_percent": around(40, 2),
        "network.receive_bytes_per_second/eth0": 1e5 * around(50, 20),
        "network.transmit_bytes_per_second/eth0": 1e4 * around(50, 20),
    }
    for core in range(2):
        curves[f"cpu.utilization_percent/cpu{core}"] = around(60, 20)
    for index, gpu in enumerate(GPUS):
        busy = around(80 if index == 0 else 0, 10 if index == 0 else 0)
        busy[::10] = 0.0
        curves[f"gpu.utilization_percent/{gpu}"] = busy
        curves[f"gpu.memory_used_percent/{gpu}"] = np.linspace(20, 50, TICKS).astype(np.float32)
    job._series[tuple(curves)] = tuple(map(_series, curves))
    job.record(curves, TICK_SECONDS, ticks_per_flush=24)
    return {key: np.asarray(values, dtype=np.float64) for key, values in curves.items()}


def _series(key: str) -> Series:
    """Return a series with the unit that collectors use for rates."""
    series = series_of(key)
    is_rate = series.metric.name.endswith("bytes_per_second")
    return (
        replace(series, metric=replace(series.metric, unit="bytes_per_second"))
        if is_rate
        else series
    )


def _move(job: FakeJob, seconds: float) -> None:
    job.clock._now_ns = START_NS + round(seconds * NANOSECONDS)
