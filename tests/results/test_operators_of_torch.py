"""Operators in a trace of the installed PyTorch match its own profiler's table."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

from sonde.client.job import Job
from sonde.store.format import OPERATIONS
from sonde.traces.operations import decode_trace
from tests.fakes.job import FakeJob


def job_of(trace: Path) -> Job:
    fake = FakeJob()
    worker = fake.worker()
    for batch in decode_trace(trace).batches():
        worker.writer.add_columns(OPERATIONS, batch.columns, batch.first_ns, batch.last_ns)
    worker.flush()
    return fake.end().job()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, profile]:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        for _ in range(2):
            with record_function("the whole step"):
                model(torch.ones(2, 8)).sum().backward()
                optimizer.step()
    path = tmp_path_factory.mktemp("traces") / "trace.json"
    profiler.export_chrome_trace(str(path))
    return job_of(path), profiler


def test_calls_and_self_times_match_torch(recorded: tuple[Job, profile]) -> None:
    job, profiler = recorded
    result = {row["name"]: row for row in job.operators().to_arrow().to_pylist()}
    text = {
        key_average.key: key_average
        for key_average in profiler.key_averages()
        if key_average.key.startswith("aten::") or key_average.key.endswith("Backward0")
    }
    assert "aten::addmm" in text
    for name, each in text.items():
        # torch counts an operator and the overload that it calls as one
        assert result[name]["calls"] == each.count or name == "aten::sum"
        assert result[name]["self_seconds"] * 1e6 == pytest.approx(each.self_cpu_time_total, abs=2)
    assert "the whole step" not in result


def test_shares_and_remaining_time_add_up(recorded: tuple[Job, profile]) -> None:
    job, _ = recorded
    top = job.operators().top(None)
    shares = sum(row["percent"] for row in top.to_arrow().to_pylist())
    assert shares + top.not_covered_percent == pytest.approx(100)
    [host] = job.breakdown().to_arrow().to_pylist()
    assert host["compute_percent"] == pytest.approx(shares)
    assert len(job.gaps()) == 0
