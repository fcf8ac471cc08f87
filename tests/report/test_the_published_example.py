"""The report contains everything that SageMaker Debugger's published example report shows.

One node of 8 cores without a GPU, a convolutional network, 4 loader processes, 2,111 steps of 0.68
seconds of which 11 took far longer.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sonde.client.reports import report_of
from sonde.clock import NANOSECONDS
from sonde.report.build import Report
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

STEPS, OUTLIERS, LOADERS, CORES = 2111, 11, 4, 8
PHASES = {"data_wait": 0.05, "forward": 0.35, "backward": 0.5, "optimizer": 0.1}
LOADER = {"num_workers": LOADERS, "batch_size": 32, "dataset": "CIFAR10", "cores": CORES}
WINDOW = '{"steps":[5,5],"by":"plan","cost_seconds":0}'


def durations() -> npt.NDArray[np.float64]:
    random = np.random.default_rng(2021)
    seconds = np.clip(random.normal(0.67, 0.05, STEPS), 0.36, 0.86)
    seconds[random.choice(STEPS, OUTLIERS, replace=False)] = np.linspace(1.6, 2.53, OUTLIERS)
    return np.round(seconds, 6)


def train(worker: FakeWorker) -> None:
    start = {"lane": "loader 0", "detail": LOADER}
    worker.operation("iterator start", "loading", 0.0, 0.3, **start)
    for batch in range(40):
        lane = f"loader 0 process {batch % LOADERS}"
        worker.operation("batch", "loading", 0.2 * batch, 0.15 + 0.005 * batch, lane=lane)
    for step, seconds in enumerate(durations().tolist()):
        spent = {name: share * min(seconds, 0.86) for name, share in PHASES.items()}
        spent["data_wait"] += max(0.0, seconds - 0.86)
        if step == 5:
            profiled(worker, spent["forward"])
            worker.step(step, spent, profiled=True)
        else:
            worker.step(step, spent)
        worker.scalar("loss", step, 2.3 * 0.999**step)
    worker.beat(hook_seconds=1.0, training_seconds=1400.0, is_over=True).flush()


def profiled(worker: FakeWorker, forward: float) -> None:
    worker.span("operators", 0, 0.67, 5, "window", lane="profile", detail=WINDOW)
    for nested, name in enumerate(
        ("aten::conv2d", "aten::convolution", "aten::mkldnn_convolution")
    ):
        edge = 0.001 * nested
        worker.operation(name, "operator", 0.04 + edge, forward - 2 * edge)


@pytest.fixture(scope="module")
def report() -> Report:
    job = FakeJob(node="algo-1")
    job.clock.advance(20)
    train(job.worker(device="cpu"))
    ticks = int(job.clock.seconds() / 2)
    job.clock._now_ns = START_NS
    random = np.random.default_rng(26)
    curves: dict[str, Any] = {
        "cpu.utilization_percent": np.clip(random.normal(57, 8, ticks), 0, 99.5),
        "memory.used_percent": np.clip(random.normal(8.3, 2, ticks), 4.27, 24.46),
        "cpu.iowait_percent": np.clip(random.normal(0.2, 0.5, ticks), 0, 52),
        "network.receive_bytes_per_second/eth0": np.zeros(ticks),
    }
    for core in range(CORES):
        curves[f"cpu.utilization_percent/cpu{core}"] = np.clip(random.normal(57, 20, ticks), 0, 100)
    job.record(curves, 2.0, ticks_per_flush=400)
    job.clock._now_ns = START_NS + 1802 * NANOSECONDS
    return report_of(job.end().backend, job.clock, runs_rules=True)


def table(report: Report, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = report.document["tables"][name]["rows"]
    return rows


def test_no_chart_of_the_example_fails(report: Report) -> None:
    assert report.document["failed"] == {}
    assert len(report.html.encode()) < 1_000_000


def test_example_shows_start_and_duration(report: Report) -> None:
    assert "and ran for 30 min 2 s" in report.document["notes"]["job_details"]
    facts = {each["name"]: each["value"] for each in table(report, "job_details")}
    assert facts["initialization_duration"] == pytest.approx(20.0)
    assert facts["training_loop_duration"] == pytest.approx(durations().sum(), abs=0.1)


def test_example_shows_node_utilization(report: Report) -> None:
    rows = {row["metric"]: row for row in table(report, "resources")}
    assert set(rows) == {"Total CPU", "CPU memory", "I/O wait", "Network in"}
    assert rows["Total CPU"]["p50"] == pytest.approx(57, abs=1)
    assert rows["Network in"]["maximum"] == 0.0
    assert {row["node"] for row in rows.values()} == {"algo-1"}


def test_example_shows_time_by_phase(report: Report) -> None:
    assert report.document["notes"]["mode_time"].startswith("Training loop: train 100%")
    phases = {row["phase"]: row["percent"] for row in table(report, "phase_time")}
    assert phases["backward"] > phases["forward"] > phases["data wait"]


def test_example_names_the_most_expensive_operator_without_counting_nested_ones_twice(
    report: Report,
) -> None:
    rows = {row["name"]: row for row in table(report, "operators/0")}
    assert next(iter(rows)) == "aten::mkldnn_convolution"
    assert rows["aten::conv2d"]["total_seconds"] > 50 * rows["aten::conv2d"]["self_seconds"]
    assert sum(row["percent"] for row in rows.values()) < 100
    assert "Most expensive CPU operator: aten::mkldnn_convolution" in report.html


def test_operator_tables_match_the_profile(report: Report) -> None:
    forward = PHASES["forward"] * float(durations()[5])
    rows = {row["name"]: row for row in table(report, "operators/0")}
    expected = {  # each contains the next one, which begins a millisecond later
        "aten::conv2d": (0.002, forward),
        "aten::convolution": (0.002, forward - 0.002),
        "aten::mkldnn_convolution": (forward - 0.004, forward - 0.004),
    }
    for name, (self_times, total) in expected.items():
        row = rows[name]
        assert (row["self_seconds"], row["total_seconds"]) == pytest.approx(
            (self_times, total), abs=1e-6
        )
        assert row["percent"] == pytest.approx(
            100 * self_times / forward
        )  # of the time from the first to the last
        assert row["calls"] == 1
    [general] = table(report, "general_operations")
    assert (general["name"], general["count"]) == ("profiler: operators", 1)
    assert [general[name] for name in ("total", "mean", "maximum")] == pytest.approx([0.67] * 3)
    assert sum(row["cpu_calls"] for row in table(report, "operator_phases")) == 3


def test_example_lists_every_rule_with_samples_and_parameters(report: Report) -> None:
    rules = {rule["rule"]: rule for rule in report.document["rules"]}
    old = (
        *("StepOutlier", "Dataloader", "LowGPUUtilization", "LoadBalancing", "IOBottleneck"),
        *("CPUBottleneck", "BatchSize", "GPUMemoryIncrease", "MaxInitializationTime"),
    )
    assert set(old) <= set(rules) == set(report.rules)
    assert rules["StepOutlier"]["datapoints"] == STEPS
    assert rules["StepOutlier"]["parameters"]["stddev"] == 3.0
    assert "rules" in report.document["notes"]


def test_example_shows_step_durations_and_outliers(report: Report) -> None:
    [row] = [each for each in table(report, "step_statistics") if each["mode"] == "train"]
    seconds = np.delete(durations(), 5)  # a profiled step
    numbers = [row[name] for name in ("mean", "maximum", "p99", "p95", "p50", "minimum")]
    expected = [seconds.mean(), *np.percentile(seconds, (100, 99, 95, 50, 0))]
    assert numbers == pytest.approx(expected, rel=1e-6)
    assert row["outliers"] == OUTLIERS
    assert {each["phase"] for each in table(report, "step_outliers")} == {"data wait"}
    assert "of it in data wait" in report.document["notes"]["outlier_phases"]
    assert "CPU utilization" in {each["metric"] for each in table(report, "outlier_system")}


def test_example_shows_loader_processes_and_loading_times(report: Report) -> None:
    [row] = table(report, "loaders")
    assert (row["processes"], row["cores"], row["pinned"]) == (LOADERS, CORES, "no")
    assert "4 loader processes on 8 CPU cores" in report.document["notes"]["loaders"]
    made = 0.15 + 0.005 * np.arange(40)
    [batch] = [each for each in table(report, "loading_times/1") if each["operation"] == "batch"]
    assert [batch[name] for name in ("p25", "p50", "p95")] == pytest.approx(
        np.percentile(made, (25, 50, 95)).tolist()
    )
    assert (batch["count"], batch["maximum"], batch["total"]) == pytest.approx(
        (40, made.max(), made.sum())
    )
    seconds = np.delete(durations(), 5)
    waits = PHASES["data_wait"] * np.minimum(seconds, 0.86) + np.maximum(0, seconds - 0.86)
    assert row["waited"] == pytest.approx(100 * waits.sum() / seconds.sum(), rel=1e-3)


def test_job_without_gpus_mentions_them_only_in_rules_that_need_one(
    report: Report,
) -> None:
    assert not {"gpu_usage", "gpu_balance", "batch_size", "gpu_memory"} & {
        *report.document["tables"],
        *report.document["notes"],
    }
    rules = {rule["rule"]: rule for rule in report.document["rules"]}
    assert rules["BatchSize"]["status"] == "NotApplicable"
    assert "gpu" in rules["BatchSize"]["details"]["reason"]
