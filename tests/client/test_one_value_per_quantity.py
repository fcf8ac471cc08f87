"""A quantity has the same value on every screen, even with profiled, slow and waiting steps."""

from typing import Any

import numpy as np
import pytest

from sonde.analyze.resources import BUSY_GPU_PERCENT
from sonde.charts.cpu_bottleneck import CpuBottleneck
from sonde.charts.loaders import Loaders
from sonde.charts.phase_time import PhaseTime
from sonde.charts.resources import Resources
from sonde.charts.step_statistics import StepStatistics
from sonde.client.job import Job
from sonde.clock import iso
from sonde.formats import format_duration, format_percent
from sonde.records.chart import Group, Spec, Table
from sonde.report.build import build_report
from sonde.rules.system.cpu_bottleneck import CPUBottleneck
from sonde.terminal.dataloader import loader_lines
from sonde.terminal.status import status_lines
from tests.fakes.job import FakeJob
from tests.web.api_client import ApiClient

STEPS = 200
PROFILED = range(90, 100)
OUTLIERS = range(25, STEPS, 40)
LOADER = {"num_workers": 2, "batch_size": 8, "dataset": "Images", "cores": 4}


def recorded_job() -> FakeJob:
    """A job with profiled steps, outliers, a slow loader, and a GPU whose load rises."""
    job = FakeJob()
    worker = job.worker(device="cuda:0")
    detail = {"lane": "loader 0", "detail": LOADER}
    worker.operation("iterator start", "loading", 0.0, 0.2, **detail)
    random = np.random.default_rng(7)
    for step in range(STEPS):
        wait = 2.0 if step < 2 else 0.06 + 0.01 * random.random()
        forward = 0.1 + 0.02 * random.random()
        if step in OUTLIERS:
            wait += 1.5
        if step in PROFILED:
            worker.step(step, {"data_wait": 2 * wait, "forward": 4 * forward}, profiled=True)
        else:
            worker.step(step, {"data_wait": wait, "forward": forward})
    worker.flush()
    job.clock._now_ns = worker.info.start_ns
    ticks = 90
    job.record(
        {
            "cpu.utilization_percent": np.linspace(20, 50, ticks),
            "cpu.utilization_percent/cpu0": np.full(ticks, 99.0),
            "cpu.utilization_percent/cpu1": np.full(ticks, 1.0),
            "gpu.utilization_percent/gpu0": np.linspace(0, 100, ticks) ** 2 / 100,
            "gpu.utilization_percent/gpu1": np.append(np.full(30, 7.0), np.full(60, np.nan)),
        }
    )
    return job.end()


@pytest.fixture(scope="module")
def recorded() -> FakeJob:
    return recorded_job()


@pytest.fixture(scope="module")
def job(recorded: FakeJob) -> Job:
    return recorded.job()


@pytest.fixture(scope="module")
def dashboard(recorded: FakeJob) -> ApiClient:
    return ApiClient(recorded)


def row_of(spec: Spec | None, **values: object) -> dict[str, Any]:
    """Return the row of a table that has these values."""
    assert isinstance(spec, Table)
    [row] = [row for row in spec.records() if values.items() <= row.items()]
    return dict(row)


def test_step_durations_exclude_profiled_steps(job: Job, dashboard: ApiClient) -> None:
    seconds = job.summary["phases"]["train"]["seconds"]
    steps = job.steps().to_pandas()
    unprofiled = steps[~steps["profiled"]]["seconds"]
    assert seconds["p50"] == pytest.approx(np.median(unprofiled))
    assert seconds["p50"] != pytest.approx(np.median(steps["seconds"]))
    chart = row_of(StepStatistics().build(job), mode="train")
    statistics = job.steps().statistics().rows[0]
    for name in ("mean", "p50", "p95", "maximum"):
        numbers = (chart[name], getattr(statistics, name))
        assert numbers == pytest.approx((seconds[name],) * 2), name
    [figures] = job.compare().figures
    assert (figures.step_p50_seconds, figures.step_p95_seconds) == (seconds["p50"], seconds["p95"])
    assert dashboard.document("steps")["median_seconds"] == seconds["p50"]
    report = job.check("ProfilerReport")["ProfilerReport"].summary
    rule = report["step seconds (p50, p95, longest)"]
    expected = [seconds[name] for name in ("p50", "p95", "maximum")]
    assert rule == pytest.approx(expected, rel=0.02)  # the accuracy of its histogram


def test_data_wait_is_a_share_of_the_time_of_unprofiled_steps(
    job: Job, dashboard: ApiClient
) -> None:
    percent = job.summary["phases"]["train"]["percent"]["data_wait"]
    steps = job.steps().to_pandas()
    unprofiled = steps[~steps["profiled"]]
    expected = 100 * unprofiled["data_wait"].sum() / unprofiled["seconds"].sum()
    assert percent == pytest.approx(expected, abs=1e-3)  # rounded
    chart = row_of(PhaseTime().build(job), phase="data wait")
    assert chart["percent"] == pytest.approx(expected)
    statistics = {row.phase: row for row in job.steps().statistics().rows}["data_wait"]
    assert statistics.percent == pytest.approx(expected)
    assert (statistics.mean, statistics.p95) == pytest.approx((chart["mean"], chart["p95"]))
    [figures] = job.compare().figures
    assert figures.data_wait_percent == pytest.approx(expected)


def test_loaders_show_the_data_wait_of_their_steps(job: Job) -> None:
    percent = job.summary["phases"]["train"]["percent"]["data_wait"]
    loaders = job.dataloader()
    [document] = loaders.documents()
    assert document["waited_percent"] == pytest.approx(percent, abs=1e-3)
    assert row_of(Loaders().build(job), worker=0)["waited"] == document["waited_percent"]
    sentence = f"Train steps spend {format_percent(percent)} of their time waiting for data."
    assert loaders.advice[0] == sentence


def test_rules_use_the_same_share_for_the_steps_that_they_count(job: Job) -> None:
    starvation = job.check("DataLoaderStarvation")["DataLoaderStarvation"]
    [episode] = starvation.episodes
    finding = episode.finding
    assert finding.steps is not None
    first, last = finding.steps
    steps = job.steps().to_pandas()
    counted = steps[~steps["profiled"] & steps["step"].between(first, last)]
    expected = 100 * counted["data_wait"].sum() / counted["seconds"].sum()
    assert finding.evidence["lost_percent"] == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_mean_utilization_counts_every_sample(kind: str, job: Job, dashboard: ApiClient) -> None:
    metric = f"{kind}.utilization_percent"
    samples = job.system(metric).to_pandas()
    names = ["cpu.utilization_percent"] if kind == "cpu" else [f"{metric}/gpu{n}" for n in (0, 1)]
    expected = np.nanmean(samples[names].to_numpy(np.float64))
    [figures] = job.compare().figures
    assert getattr(figures, f"{kind}_percent") == pytest.approx(expected)
    answer = dashboard.document("breakdown")["system"]
    assert answer["range"][metric]["mean"] == pytest.approx(expected)
    report = job.check("ProfilerReport")["ProfilerReport"].summary
    assert report[f"mean {metric}"] == pytest.approx(expected)


def test_the_same_steps_are_outliers_everywhere(job: Job) -> None:
    outliers = sorted(row.step for row in job.steps().outliers().steps)
    assert outliers == [0, 1, *OUTLIERS]
    assert row_of(StepStatistics().build(job), mode="train")["outliers"] == len(outliers)
    [episode] = job.check("StepOutlier", n_outliers=3)["StepOutlier"].episodes
    # the rule does not count the first steps
    assert episode.finding.evidence["steps"] == list(OUTLIERS)


def test_gpus_are_busy_from_the_same_utilization_on(job: Job) -> None:
    utilization = job.system("gpu.utilization_percent").to_pandas()
    means = utilization.drop(columns=["time", "node"]).mean()
    busy = int((means >= BUSY_GPU_PERCENT).sum())
    limit = format_percent(BUSY_GPU_PERCENT)
    table = Resources().build(job)
    assert isinstance(table, Table)
    assert table.note == f"{busy} of 2 GPUs of node-a had a mean utilization of {limit} or more."
    chart = CpuBottleneck().build(job)
    assert isinstance(chart, Group)
    assert f"below {limit}" in chart.note
    assert CPUBottleneck().gpu_threshold == BUSY_GPU_PERCENT


def test_texts_of_all_screens_show_the_same_numbers(job: Job, dashboard: ApiClient) -> None:
    phases = job.summary["phases"]["train"]
    wait, median = phases["percent"]["data_wait"], phases["seconds"]["p50"]
    status = "\n".join(line.plain for line in status_lines(job.summary))
    assert f"{format_duration(median)} per train step" in status
    [line] = [line for line in status.splitlines() if line.startswith("data_wait ")]
    assert line.split()[1] == format_percent(wait, 1)
    loaders = "\n".join(line.plain for line in loader_lines(job.dataloader().documents()))
    assert f"{format_percent(wait)} of step time spent waiting" in loaders
    report = build_report(job, iso(job.facts.end_ns or 0))
    assert f"median {format_duration(median)}" in report.html
    assert f"Data wait: {format_percent(wait)} of step time." in report.html
    rows = {row["phase"]: row for row in report.document["tables"]["phase_time"]["rows"]}
    assert rows["data wait"]["percent"] == pytest.approx(wait, abs=1e-3)
    assert dashboard.document("steps")["median_seconds"] == median
