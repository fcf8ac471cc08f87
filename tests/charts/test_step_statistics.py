"""The table of step statistics equals what NumPy computes."""

import numpy as np
import pytest

from sonde.charts import CHARTS
from sonde.records.chart import Table
from tests.charts.built import built
from tests.fakes.job import FakeJob
from tests.fakes.reported import STEPS, Reported


def test_step_statistics_match_numpy(reported: Reported) -> None:
    rows = built(reported, "step_statistics", Table).records()
    for worker in (0, 1):
        [row] = [row for row in rows if row["worker"] == worker and row["mode"] == "train"]
        seconds = reported.durations(worker)
        assert row["steps"] == STEPS
        numbers = [row[name] for name in ("mean", "maximum", "p99", "p95", "p50", "minimum")]
        expected = [seconds.mean(), *np.percentile(seconds, (100, 99, 95, 50, 0))]
        assert numbers == pytest.approx(expected)
        assert row["outliers"] == (8 if worker else 0)


def test_note_counts_steps_above_the_outlier_limit(reported: Reported) -> None:
    seconds = reported.durations(1)
    median = np.median(seconds)
    limit = max(median + 3 * 1.4826 * np.median(np.abs(seconds - median)), 1.5 * median)
    note = built(reported, "step_statistics", Table).note
    long = f"8 of {STEPS} steps took longer than {1e3 * limit:.3g} ms"
    assert f", median {1e3 * median:.3g} ms. {long}." in note
    quick = CHARTS.load("step_statistics")(worker=0).build(reported.job)
    assert isinstance(quick, Table)
    assert f"None of {STEPS} steps took longer than" in quick.note


def test_report_and_status_count_profiled_steps_alike() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(30):
        worker.step(step, {"forward": 0.1}, profiled=10 <= step < 15)
    worker.flush()
    shown = job.end().job()
    assert shown.summary["steps"] == {"train": 30}
    table = CHARTS.load("step_statistics")().build(shown)
    assert isinstance(table, Table)
    [row] = table.records()
    assert (row["steps"], row["profiled"]) == (30, 5)
    assert "of 30 steps (5 profiled steps excluded)" in table.note
    phases = CHARTS.load("phase_time")().build(shown)
    assert phases is not None
    assert phases.note.endswith("(30 steps).")
