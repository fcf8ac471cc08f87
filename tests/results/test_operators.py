from collections.abc import Iterator
from typing import Any

import pytest

from sonde.errors import UsageError
from sonde.results.operators import Operators
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker


def operation(worker: FakeWorker, name: str, start: float, end: float, **more: Any) -> None:
    """Record an operation; times are milliseconds from now."""
    category = more.pop("category", "operator")
    worker.operation(name, category, start / 1000, (end - start) / 1000, **more)


def window(worker: FakeWorker, kind: str, step: int = 0) -> None:
    """Record a profiling window of 10 ms that starts now."""
    detail = f'{{"steps":[{step},{step}],"by":"plan","cost_seconds":0}}'
    worker.span(kind, 0, 0.01, step, "window", lane="profile", detail=detail)


def profiled_on_cpu(worker: FakeWorker, step: int = 0) -> None:
    """Record a step of 10 ms: 4 ms forward, 4 ms backward, 2 ms without operators."""
    window(worker, "operators", step)
    operation(worker, "aten::linear", 0, 4, module="fc")
    operation(worker, "aten::mm", 1, 3, module="fc")
    operation(worker, "MmBackward0", 4, 8, lane="thread 2")
    operation(worker, "ProfilerStep#0", 0, 10, category="annotation")
    worker.step(step, {"forward": 0.004, "backward": 0.004}, rest=0.002)


@pytest.fixture
def job() -> Iterator[FakeJob]:
    fake = FakeJob()
    yield fake
    fake.end()


def test_job_without_gpu_shows_host_operators(job: FakeJob) -> None:
    worker = job.worker()
    profiled_on_cpu(worker)
    worker.flush()
    operators = job.job().operators()
    assert (operators.shown_device, operators.steps) == ("cpu", 1)
    rows = operators.to_arrow().to_pylist()
    assert [(row["name"], row["percent"]) for row in rows] == [
        ("MmBackward0", pytest.approx(40)),
        ("aten::linear", pytest.approx(20)),
        ("aten::mm", pytest.approx(20)),
    ]
    assert operators.top().not_covered_percent == pytest.approx(20)
    assert "device_self_seconds" not in rows[0]
    by_total = operators.top(1, by="total").to_arrow().to_pylist()
    assert [row["name"] for row in by_total] == ["aten::linear"]


def test_a_step_whose_first_operator_starts_late_is_counted(job: FakeJob) -> None:
    worker = job.worker()
    window(worker, "operators", 0)
    operation(worker, "aten::linear", 6, 9)
    worker.step(0, {"data_wait": 0.006, "forward": 0.004})
    worker.flush()
    assert job.job().operators().steps == 1


def test_forward_and_backward_are_separate(job: FakeJob) -> None:
    worker = job.worker()
    profiled_on_cpu(worker)
    worker.flush()
    rows = job.job().operators().phases().to_arrow().to_pylist()
    result = {row["name"]: row["percent"] for row in rows}
    assert result == pytest.approx({"forward": 40, "backward": 40})


def test_windows_are_summed_without_the_time_between_them(job: FakeJob) -> None:
    worker = job.worker()
    for step in (0, 1):
        profiled_on_cpu(worker, step)
        job.clock.advance(100)
    worker.flush()
    operators = job.job().operators()
    assert operators.wall_seconds == pytest.approx(0.02)
    assert operators.steps == 2
    [row] = job.job().breakdown().to_arrow().to_pylist()
    assert row["compute_percent"] == pytest.approx(80)


def test_data_of_other_profilers_is_excluded(job: FakeJob) -> None:
    worker = job.worker()
    profiled_on_cpu(worker)
    job.clock.advance(1)
    window(worker, "distributed", 1)
    operation(worker, "all_reduce", 0, 5, category="collective")
    worker.flush()
    assert job.job().operators().wall_seconds == pytest.approx(0.01)


def test_operators_can_be_queried_for_all_workers_or_a_single_one(job: FakeJob) -> None:
    for rank in (0, 1):
        worker = job.worker(rank)
        profiled_on_cpu(worker)
        worker.flush()
    rows = job.job().operators().to_arrow().to_pylist()
    assert {row["name"]: row["calls"] for row in rows}["aten::mm"] == 2
    rows = job.job().operators(worker=1).to_arrow().to_pylist()
    assert {row["name"]: row["calls"] for row in rows}["aten::mm"] == 1
    workers = [row["worker"] for row in job.job().breakdown().to_arrow().to_pylist()]
    assert workers == [0, 1]


def test_modules_have_names(job: FakeJob) -> None:
    worker = job.worker()
    profiled_on_cpu(worker)
    worker.flush()
    shown = repr(job.job().operators(by="module"))
    assert "fc" in shown
    assert "(none)" in shown
    assert "not covered" in shown


def test_job_without_profile_explains_how_to_record_one(job: FakeJob) -> None:
    job.worker().step(0, {"forward": 1.0}).flush()
    assert "sonde run --profile operators" in repr(job.job().operators())
    assert job.job().operators().to_arrow().num_rows == 0
    assert job.job().breakdown().to_arrow().num_rows == 0
    assert job.job().gaps().to_arrow().num_rows == 0
    assert "No device operations" in repr(job.job().gaps())


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ({"device": "tpu"}, "Unknown device 'tpu'. Available: cpu, gpu"),
        ({"by": "color"}, "Available: operator, module, phase, kernel"),
        ({"device": "cpu", "by": "kernel"}, "Kernels run on GPUs only"),
    ],
)
def test_unknown_device_or_grouping_lists_known_ones(
    job: FakeJob, requested: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        job.job().operators(**requested)


def test_unknown_order_is_an_error(job: FakeJob) -> None:
    with pytest.raises(UsageError, match="Available: self, total"):
        Operators(()).top(by="name")


def test_frames_have_times_in_seconds(job: FakeJob) -> None:
    worker = job.worker()
    window(worker, "operators")
    operation(worker, "aten::mm", 0, 2)
    operation(worker, "cudaLaunchKernel", 1, 2, category="runtime", correlation=1)
    where = {"category": "kernel", "lane": "stream 7", "device": "cuda:0"}
    operation(worker, "gemm", 2, 6, correlation=1, **where)
    operation(worker, "gemm", 7, 9, correlation=2, **where)
    worker.flush()
    gaps = job.job().gaps()
    [first, second] = gaps.to_arrow().to_pylist()
    assert [first["cause"], second["cause"]] == ["host", "unknown"]
    assert second["duration_seconds"] == pytest.approx(0.001)
    assert list(gaps.longest(1).to_arrow().column_names)[:4] == [
        *("worker", "device", "time", "duration_seconds")
    ]
    [longest] = gaps.longest(1).documents()
    assert longest["time"].endswith("Z")
    [index, _] = gaps.places().documents()
    assert (index["cause"], index["operator"], index["gaps"]) == ("host", "aten::mm", 1)
    assert index["percent"] == pytest.approx(100 * 2 / 9)
    assert "host" in repr(gaps)
    assert "cuda:0" in repr(job.job().breakdown())
