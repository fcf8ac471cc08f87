"""A real step on an H200 matches a count by plain loops over the same trace."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from sonde.client.job import Job
from sonde.store.format import OPERATIONS
from sonde.traces.operations import decode_trace
from tests.fakes.job import FakeJob

TRACE = Path(__file__).parent.parent / "golden" / "kineto_h200_one_step.json.gz"
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
ON_HOST = ("cpu_op", "cuda_runtime", "cuda_driver")
SECOND = 1e6  # in the trace's microseconds

Event = dict[str, Any]


@pytest.fixture(scope="module")
def job() -> Job:
    fake = FakeJob()
    worker = fake.worker()
    for batch in decode_trace(TRACE).batches():
        worker.writer.add_columns(OPERATIONS, batch.columns, batch.first_ns, batch.last_ns)
    worker.flush()
    return fake.end().job()


@pytest.fixture(scope="module")
def events() -> list[Event]:
    with gzip.open(TRACE) as file:
        result = json.load(file)["traceEvents"]
    return [event for event in result if event["ph"] == "X"]


def seconds(job: Job, column: str, **requested: str) -> dict[str, float]:
    rows = job.operators(**requested).to_arrow().to_pylist()
    return {row["name"]: row[column] for row in rows if row[column]}


def wall(events: list[Event]) -> float:
    first = min(float(event["ts"]) for event in events)
    return max(float(event["ts"] + event["dur"]) for event in events) - first


def busy(events: list[Event]) -> float:
    """Return the time in which at least one event runs."""
    covered, until = 0.0, 0.0
    for event in sorted(events, key=lambda event: event["ts"]):
        start, end = max(event["ts"], until), event["ts"] + event["dur"]
        covered += max(0.0, end - start)
        until = max(until, end)
    return covered


def test_kernel_times_match(job: Job, events: list[Event]) -> None:
    expected: dict[str, float] = defaultdict(float)
    for event in events:
        if event["cat"] in ON_DEVICE:
            expected[event["name"]] += event["dur"] / SECOND
    result = seconds(job, "self_seconds", by="kernel")
    assert result == pytest.approx(expected, abs=1e-8)
    assert sum(result.values()) == pytest.approx(sum(expected.values()))


def test_self_and_total_times_of_operators_match(job: Job, events: list[Event]) -> None:
    self_times: dict[str, float] = defaultdict(float)
    total: dict[str, float] = defaultdict(float)
    threads = {event["tid"] for event in events if event["cat"] in ON_HOST}
    for thread in threads:
        mine = [event for event in events if event["cat"] in ON_HOST and event["tid"] == thread]
        open_: list[Event] = []
        for event in sorted(mine, key=lambda each: (each["ts"], -each["dur"])):
            while open_ and open_[-1]["ts"] + open_[-1]["dur"] <= event["ts"]:
                open_.pop()
            self_times[event["name"]] += event["dur"] / SECOND
            if open_:
                self_times[open_[-1]["name"]] -= event["dur"] / SECOND
            if event["name"] not in [each["name"] for each in open_]:
                total[event["name"]] += event["dur"] / SECOND
            open_.append(event)
    assert seconds(job, "self_seconds", device="cpu") == pytest.approx(self_times, abs=1e-8)
    assert seconds(job, "total_seconds", device="cpu") == pytest.approx(total, abs=1e-8)


def test_device_time_belongs_to_the_operators_that_kineto_links(
    job: Job, events: list[Event]
) -> None:
    """Kineto links kernels to operators by an ID, Sonde by the calls that launched them."""
    names = {
        event["args"]["External id"]: event["name"] for event in events if event["cat"] == "cpu_op"
    }
    expected: dict[str, float] = defaultdict(float)
    for event in events:
        if event["cat"] in ON_DEVICE:
            expected[names[event["args"]["External id"]]] += event["dur"] / SECOND
    result = seconds(job, "self_seconds", device="gpu")
    assert result == pytest.approx(expected, abs=1e-8)
    top = [row["name"] for row in job.operators().top(10).to_arrow().to_pylist()]
    assert top == sorted(expected, key=lambda name: -expected[name])[:10]


def test_shares_and_uncovered_time_add_up(job: Job, events: list[Event]) -> None:
    for device, categories in (("gpu", ON_DEVICE), ("cpu", ON_HOST)):
        top = job.operators(device=device).top(None)
        shares = sum(row["percent"] for row in top.to_arrow().to_pylist())
        assert shares + top.not_covered_percent == pytest.approx(100)
        covered = busy([event for event in events if event["cat"] in categories])
        assert shares == pytest.approx(100 * covered / wall(events), abs=1e-3)


def test_breakdown_and_idle_share_match(job: Job, events: list[Event]) -> None:
    host, device = job.breakdown().to_arrow().to_pylist()
    kernels = [event for event in events if event["cat"] == "kernel"]
    on_device = [event for event in events if event["cat"] in ON_DEVICE]
    recorded = max(each["ts"] + each["dur"] for each in on_device) - min(
        each["ts"] for each in on_device
    )
    total = wall(events)
    expected = {
        "seconds": total / SECOND,
        "compute_percent": 100 * busy(kernels) / total,
        "communication_overlapped_percent": 0.0,
        "communication_exposed_percent": 0.0,
        "copies_percent": 100 * (busy(on_device) - busy(kernels)) / total,
        "idle_percent": 100 * (recorded - busy(on_device)) / total,
        "not_covered_percent": 100 * (total - recorded) / total,
    }
    assert {name: device[name] for name in expected} == pytest.approx(expected, abs=1e-3)
    covered = busy([event for event in events if event["cat"] in ON_HOST])
    assert host["compute_percent"] == pytest.approx(100 * covered / total, abs=1e-3)


def test_gaps_add_up_to_the_idle_time_and_have_causes(job: Job, events: list[Event]) -> None:
    calls = {
        event["args"]["correlation"]: event["ts"] + event["dur"]
        for event in events
        if event["cat"] in ("cuda_runtime", "cuda_driver") and "correlation" in event["args"]
    }
    expected: dict[str, float] = defaultdict(float)
    until = 0.0
    for event in sorted(events, key=lambda event: event["ts"]):
        if event["cat"] in ON_DEVICE:
            if until and event["ts"] > until:
                is_late = calls[event["args"]["correlation"]] > until
                expected["host" if is_late else "device"] += (event["ts"] - until) / SECOND
            until = max(until, event["ts"] + event["dur"])
    rows = job.gaps().causes().documents()
    result = {row["cause"]: row["total_seconds"] for row in rows if row["cause"] != "unknown"}
    assert result == pytest.approx(expected, abs=1e-6)


def test_launches_are_counted(job: Job, events: list[Event]) -> None:
    kernels = [event["dur"] for event in events if event["cat"] == "kernel"]
    [row] = job.operators().launches().documents()
    assert row["kernels"] == len(kernels)
    assert row["kernel_mean_seconds"] == pytest.approx(sum(kernels) / len(kernels) / SECOND)
    short = sum(kernel < 10 for kernel in kernels) / len(kernels)
    assert row["short_percent"] == pytest.approx(100 * short)
