"""Collectives of a job, matched between its workers."""

from typing import Any

import pytest

from sonde.clock import NANOSECONDS
from sonde.results.clocks import Clocks, NodeClock
from tests.fakes.clock import START_NS, FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

STEPS = 12


def called(worker: FakeWorker, start: float, seconds: float, **detail: Any) -> None:
    """Record a call as the profiler of collectives does."""
    facts = {"group": "0", "size": 2, "bytes": 4000, "async": False}
    facts |= {"call_ns": round(seconds * NANOSECONDS), "wait_ns": 0} | detail
    lane = "collectives 2" if facts["async"] else "collectives"
    worker.operation("all_reduce", "collective", start, seconds, lane=lane, detail=facts)


def trained(
    late: float = 0.03,
    uri: str = "",
    offset: float = 0.0,
    nodes: tuple[str, str] = ("left", "left"),
    **detail: Any,
) -> FakeJob:
    """Record two workers; the second enters every collective late, and its clock is ahead."""
    job = FakeJob(uri, node="left")
    first = job.worker(0, world_size=2, node=nodes[0])
    clock = FakeClock(START_NS + round(offset * NANOSECONDS))
    second = FakeWorker(job.backend, clock, 1, node=nodes[1], world_size=2)
    for number in range(STEPS):
        wobble = 0.0001 * (number % 3)
        called(first, 0.1, late + 0.002 + wobble, **detail)
        called(second, 0.1 + late, 0.002, **detail)
        for worker in (first, second):
            worker.step(number, {"forward": 0.1, "backward": 0.1})
    first.flush()
    second.flush()
    job.end()
    return job


def test_collectives_separate_waiting_from_transfer_and_name_the_slow_worker() -> None:
    collectives = trained(late=0.03).job().collectives()
    table = collectives.to_arrow().to_pylist()
    assert len(table) == 2 * STEPS
    mine = [row for row in table if row["worker"] == 0]
    rest = [row for row in table if row["worker"] == 1]
    for row, second in zip(mine, rest, strict=True):
        assert row["collective"] == second["collective"] >= 0
        assert row["step"] == second["step"]
        assert row["waiting_seconds"] == pytest.approx(0.03)
        assert row["transfer_seconds"] == pytest.approx(0.002, abs=0.0003)
        assert row["exposed_seconds"] == pytest.approx(row["seconds"])
        assert second["waiting_seconds"] == 0
        assert second["late_seconds"] == pytest.approx(0.03)
    assert collectives.slow_worker == 1
    assert "Worker 1 is slow: the others waited for it in 12 of 12 steps" in repr(collectives)
    assert "30 ms per step" in repr(collectives)


def test_workers_that_arrive_together_are_not_called_slow() -> None:
    collectives = trained(late=0.0).job().collectives()
    assert collectives.slow_worker is None
    assert "No worker delays the others" in repr(collectives)


def test_clocks_of_two_nodes_are_compared_and_corrected() -> None:
    collectives = trained(late=0.03, offset=1.5, nodes=("left", "right")).job().collectives()
    assert collectives.slow_worker == 1
    first, right = collectives.clocks.nodes
    assert (first.source, right.source, right.meetings) == ("reference", "collectives", STEPS)
    assert right.error_ns is not None
    assert abs(right.offset_ns - 1.5 * NANOSECONDS) <= right.error_ns < 0.003 * NANOSECONDS
    waited = [row["waiting_seconds"] for row in collectives.to_arrow().to_pylist()[:STEPS]]
    assert waited == pytest.approx([0.03] * STEPS, abs=0.003)
    assert "collectives" in repr(collectives.clocks).splitlines()[-1]


def test_errors_of_two_clocks_add_up() -> None:
    nodes = [NodeClock("a", 0, 0, "reference"), NodeClock("b", 5, 3, "steps")]
    assert Clocks(tuple(nodes)).error_ns == 3
    nodes.append(NodeClock("c", 9, 4, "collectives"))
    assert Clocks(tuple(nodes)).error_ns == 7
    nodes.append(NodeClock("d", 0, None, "nothing"))
    assert Clocks(tuple(nodes)).error_ns is None
    assert "unknown" in repr(Clocks(tuple(nodes)))
    assert Clocks(()).error_ns == 0


def test_time_hidden_by_asynchronous_calls_is_not_exposed() -> None:
    detail: dict[str, Any] = {"async": True, "call_ns": 100_000, "wait_ns": 400_000}
    job = trained(**detail).job()
    table = job.collectives().to_arrow()
    assert set(table["asynchronous"].to_pylist()) == {True}
    assert table["exposed_seconds"].to_pylist() == pytest.approx([0.0005] * 2 * STEPS)


def test_exposed_time_is_never_longer_than_the_call() -> None:
    detail: dict[str, Any] = {"async": True, "call_ns": 100_000, "wait_ns": 60_000_000_000}
    table = trained(**detail).job().collectives().to_arrow()
    assert table["exposed_seconds"].to_pylist() == table["seconds"].to_pylist()


def test_exposed_time_in_a_trace_is_not_covered_by_computation() -> None:
    job = FakeJob()
    worker = job.worker()
    worker.operation("gloo:all_reduce", "collective", 0.10, 0.10, lane="thread 2")
    worker.operation("c10d::allreduce_", "collective", 0.09, 0.01)
    worker.operation("aten::mm", "operator", 0.05, 0.09)
    facts = {"collective": "_allgather_base", "elements_in": 100, "dtype": "BFloat16", "group": "3"}
    kernel = {"device": "cuda:0", "lane": "stream 20", "detail": facts}
    worker.operation("ncclDevKernel_AllGather_RING_LL(x)", "kernel", 1.0, 0.2, **kernel)
    worker.operation("gemm", "kernel", 1.1, 0.3, device="cuda:0", lane="stream 7")
    worker.flush()
    gloo, nccl = job.job().collectives().to_arrow().to_pylist()
    assert (gloo["operation"], gloo["source"]) == ("all_reduce", "gloo")
    assert gloo["exposed_seconds"] == pytest.approx(0.06)
    assert (nccl["operation"], nccl["group"], nccl["bytes"]) == ("all_gather", "3", 200.0)
    assert nccl["exposed_seconds"] == pytest.approx(0.1)


def test_kernels_belong_to_the_step_that_launched_them() -> None:
    job = FakeJob()
    for rank, runs_late in enumerate((0.0, 0.15)):
        worker = FakeWorker(job.backend, FakeClock(), rank, world_size=2)
        for number in range(4):
            launch = {"correlation": 10 + number}
            worker.operation("cudaLaunchKernel", "runtime", 0.1, 0.001, **launch)
            start = 0.15 + runs_late if number else 0.15  # the device is one step behind
            kernel = {"device": "cuda:0", "lane": "stream 20", **launch}
            worker.operation("ncclDevKernel_AllReduce_Sum(x)", "kernel", start, 0.002, **kernel)
            worker.step(number, {"forward": 0.2})
        worker.flush()
    rows = job.job().collectives().to_arrow().to_pylist()
    assert [row["step"] for row in rows] == [0, 1, 2, 3] * 2
    assert [row["collective"] for row in rows] == [0, 1, 2, 3] * 2


def test_operations_are_summed_over_workers() -> None:
    collectives = trained(late=0.03).job().collectives()
    [row] = collectives.by_operation().documents()
    assert (row["operation"], row["group"], row["source"]) == ("all_reduce", "0", "calls")
    assert (row["calls"], row["bytes"]) == (2 * STEPS, 2 * STEPS * 4000)
    assert row["waiting_seconds"] == pytest.approx(0.03 * STEPS)
    assert row["transfer_seconds"] == pytest.approx(0.004 * STEPS, rel=0.1)
    first, second = collectives.by_worker().documents()
    assert (first["worker"], second["worker"]) == (0, 1)
    assert first["waiting_seconds"] == second["awaited_seconds"]


def test_collectives_can_be_limited_to_steps() -> None:
    collectives = trained().job().collectives(start_step=3, end_step=5)
    assert sorted(collectives.to_arrow()["step"].to_pylist()) == [3, 3, 4, 4]


def test_job_without_collectives_explains_how_to_record_them() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 1.0}).flush()
    collectives = job.job().collectives()
    assert len(collectives) == 0
    assert "No collectives recorded" in repr(collectives)
    assert collectives.to_arrow().num_rows == 0
