"""A node whose samples are all lost has no charts; those of other nodes are drawn."""

import pytest

from sonde.charts import CHARTS
from sonde.report.build import build_report
from sonde.store.frames import FrameKind, FrameScan
from tests.fakes.job import FakeJob

NOW = "2026-01-01T00:00:00+00:00"
KEYS = (
    "cpu.utilization_percent",
    "cpu.utilization_percent/cpu0",
    "cpu.utilization_percent/cpu1",
    "gpu.utilization_percent/gpu0",
    "gpu.utilization_percent/gpu1",
    "memory.used_percent",
    "disk.read_bytes_per_second/sda",
    "network.receive_bytes_per_second/eth0",
)


def recorded(nodes: int) -> FakeJob:
    first = FakeJob()
    for number in range(nodes):
        job = FakeJob(first.backend.uri, f"node-{number}", first.clock) if number else first
        job.record({key: range(12) for key in KEYS}).beat().close()
    worker = first.worker()
    for step in range(6):
        worker.step(step, {"forward": 0.5}).flush()
    worker.beat()
    return first


def cut_after_the_names(job: FakeJob) -> None:
    """Truncate the log of the first node after its schema, before any sample."""
    key = next(key for key in job.stored(".frames") if "system" in key)
    data = job.backend.read(key)
    first = next(each for each in FrameScan(data) if each.kind is not FrameKind.SCHEMA)
    job.backend.write(key, data[: first.offset])


@pytest.mark.parametrize("nodes", [1, 2])
def test_log_without_samples_does_not_break_charts_or_report(nodes: int) -> None:
    job = recorded(nodes)
    assert build_report(job.job(), NOW).document["failed"] == {}
    cut_after_the_names(job)
    made = build_report(job.job(), NOW)
    assert made.document["failed"] == {}
    assert made.html.startswith("<!doctype html>")


def test_a_node_without_samples_has_no_heatmap() -> None:
    job = recorded(1)
    chart = CHARTS.load("node_heatmap")()
    assert chart.build(job.job()) is not None
    cut_after_the_names(job)
    assert chart.build(job.job()) is None
