"""Findings of machine rules do not depend on when the monitor refreshes or restarts."""

import itertools

import numpy as np
import pytest

from sonde.engine.runner import Runner
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.finding import Evaluation, Setting
from sonde.records.job import Heartbeat, Overhead
from sonde.rules import Rule, load_rule
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from tests.fakes.job import FakeJob

SAMPLES = 900
AT = np.arange(SAMPLES)
CURVES = {
    "cpu.utilization_percent": np.where(AT % 10 < 7, 97.0, 20.0),
    "cpu.iowait_percent": np.where(AT % 10 < 6, 80.0, 1.0),
    "gpu.utilization_percent/gpu0": np.where((AT % 10 < 8) | (AT > 700), 0.0, 60.0),
    "gpu.utilization_percent/gpu1": np.full(SAMPLES, 65.0),
    "gpu.memory_used_percent/gpu0": 10 + AT / 20,
    "gpu.memory_used_percent/gpu1": np.full(SAMPLES, 20.0),
    "gpu.throttled_thermal/gpu1": (AT > 300).astype(np.float64),
    "gpu.sm_clock_mhz/gpu1": np.where(AT > 300, 1200.0, 1900.0),
    "process_tree.rss_bytes": 1e9 + 1e7 * AT,
    "disk.free_bytes//data": 1e11 - 1e8 * AT,
    "disk.free_percent//data": 50 - AT / 20,
}
NAMES = (
    *("CPUBottleneck", "IOBottleneck", "LowGPUUtilization", "BatchSize", "GPUMemoryIncrease"),
    *("LoadBalancing", "OverallSystemUsage", "IdleGPU", "GPUThrottling", "DiskFull"),
    *("HostMemoryLeak", "MaxInitializationTime", "StalledTrainingRule", "ProfilerReport"),
    *("OverallFrameworkMetrics",),
)
SMALLER: dict[str, dict[str, object]] = {
    "LowGPUUtilization": {"window": 60},
    "BatchSize": {"window": 60},
    "IdleGPU": {"minutes": 0.5},
    "MaxInitializationTime": {"threshold": 0.2},
    "StalledTrainingRule": {"threshold": 40.0},
}


MANY_SAMPLES: dict[str, dict[str, object]] = {  # by default, with the classic setting
    "IOBottleneck": {"patience": "auto"},
    "LowGPUUtilization": {"patience": "auto"},
    "GPUMemoryIncrease": {"window": 10, "increase": 0.4},
}


def rules(setting: Setting) -> list[Rule]:
    fewer = MANY_SAMPLES if setting is Setting.CLASSIC else {}
    return [
        load_rule(item)(setting=setting, **SMALLER.get(item, {}), **fewer.get(item, {}))
        for item in NAMES
    ]


def texts(evaluations: tuple[Evaluation, ...]) -> list[tuple[object, ...]]:
    return [
        (
            evaluation.rule,
            evaluation.status,
            evaluation.datapoints,
            evaluation.triggered,
            evaluation.reason,
            evaluation.episodes,
            evaluation.summary,
        )
        for evaluation in evaluations
    ]


@pytest.mark.parametrize("setting", list(Setting))
@pytest.mark.parametrize("seed", range(2))
def test_findings_do_not_depend_on_refreshes_and_restarts(setting: Setting, seed: int) -> None:
    inspections = set(np.random.default_rng(seed).choice(SAMPLES, 8, replace=False).tolist())
    restarts = itertools.cycle((True, False))
    job = FakeJob()
    worker = job.worker(device="cuda:0")
    watching = Runner(JobData(OpenJob(job.backend, job.clock)), rules(setting))
    for index, values in enumerate(zip(*CURVES.values(), strict=True)):
        job.record({key: [float(item)] for key, item in zip(CURVES, values, strict=True)}, 0.0)
        if 60 <= index < 700:
            worker.step(index - 60, {"data_wait": 0.01, "forward": 0.49})
        else:
            job.clock.advance(0.5)
        if index in inspections:
            worker.flush()
            beat = Heartbeat(job.clock.now_ns(), 5.0, Overhead(0.0, 0, 0.0))
            job.backend.write(attempt_key(job.node, 1, "heartbeat"), encode_facts(beat))
            watching.advance()
            if next(restarts):
                data = JobData(OpenJob(job.backend, job.clock))
                watching = Runner(data, rules(setting), watching.progress)
    worker.flush()
    job.end()
    watching.advance()
    afterwards = Runner(JobData(OpenJob(job.backend, job.clock)), rules(setting))
    afterwards.advance()
    assert texts(watching.evaluations) == texts(afterwards.evaluations)
    fired = {evaluation.rule for evaluation in afterwards.evaluations if evaluation.episodes}
    assert len(fired) >= 8
