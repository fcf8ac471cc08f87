"""Traces written by the installed PyTorch."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

from sonde.traces.operations import Trace, decode_trace
from tests.traces.test_operations import rows


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Trace]:
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        inputs = torch.ones(2, 8)
        with record_function("sonde.module.first"):
            hidden = model[0](inputs)
        with record_function("sonde.module.rest"):
            loss = model[2](model[1](hidden)).sum()
        loss.backward()
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    profiler.export_chrome_trace(str(path))
    return profiler, decode_trace(Path(path))


def test_operators_and_their_times_match_pytorch(recorded: tuple[Any, Trace]) -> None:
    profiler, trace = recorded
    theirs = {item.key: item for item in profiler.key_averages()}
    ours = [row for row in rows(trace) if row["category"] == "operator"]
    counts = Counter(row["name"] for row in ours)
    assert counts["aten::addmm"] == 2
    assert counts.keys() == theirs.keys() - {"sonde.module.first", "sonde.module.rest"}
    # PyTorch counts a call once if it only calls another operator of the same name
    same = {name: count for name, count in counts.items() if theirs[name].count == count}
    assert len(same) > len(counts) / 2
    for name, count in same.items():
        mine = [row for row in ours if row["name"] == name]
        total = sum(row["duration_ns"] for row in mine) / 1000
        self_times = sum(row["self_ns"] for row in mine) / 1000
        assert total == pytest.approx(theirs[name].cpu_time_total, abs=0.01 * count)
        assert self_times == pytest.approx(theirs[name].self_cpu_time_total, abs=0.1 * count)


def test_forward_and_backward_operators_know_their_module(recorded: tuple[Any, Trace]) -> None:
    _, trace = recorded
    result = rows(trace)
    forward = [row["module"] for row in result if row["name"] == "aten::addmm"]
    assert forward == ["first", "rest"]
    backward = [row for row in result if row["name"] == "AddmmBackward0"]
    assert [row["module"] for row in backward] == ["rest", "first"]
    assert all('"pass":"backward"' in row["detail"] for row in backward)
    inside = {row["module"] for row in result if row["name"] == "aten::mm"}
    assert inside == {"first", "rest"}


def test_shapes_and_the_clock_are_right(recorded: tuple[Any, Trace]) -> None:
    _, trace = recorded
    (first, _) = [row for row in rows(trace) if row["name"] == "aten::addmm"]
    assert '"shapes":[[16],[2,8],[8,16],[],[]]' in first["detail"]
    assert trace.is_absolute
    assert not trace.is_truncated
    assert trace.left_out == 0
    (lane,) = {row["lane"] for row in rows(trace) if row["name"] == "aten::addmm"}
    assert lane.startswith("thread ")
