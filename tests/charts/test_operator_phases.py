"""Operators by phase of the step."""

import pytest

from sonde.charts.operator_phases import OperatorPhases
from sonde.records.chart import Table
from tests.fakes.job import FakeJob


def test_operator_time_is_shown_by_phase() -> None:
    job = FakeJob()
    worker = job.worker()
    detail = '{"steps":[0,0],"by":"plan","cost_seconds":0}'
    worker.span("operators", 0, 0.01, 0, "window", lane="profile", detail=detail)
    worker.operation("aten::mm", "operator", 0.0, 0.004)
    worker.operation("MmBackward0", "operator", 0.004, 0.002, lane="thread 2")
    worker.step(0, {"forward": 0.004, "backward": 0.004}, rest=0.002)
    worker.flush()
    spec = OperatorPhases().build(job.end().job())
    assert isinstance(spec, Table)
    assert [column.name for column in spec.columns] == [
        "phase",
        "cpu_percent",
        "cpu_seconds",
        "cpu_calls",
    ]
    assert [row[0] for row in spec.rows] == ["forward", "backward"]
    assert [row[2] for row in spec.rows] == [pytest.approx(0.004), pytest.approx(0.002)]


def test_job_without_a_profile_has_no_operator_chart() -> None:
    assert OperatorPhases().build(FakeJob().end().job()) is None
