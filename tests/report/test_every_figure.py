"""Every number of every table is in the page and equals the value computed by numpy.

Other numbers are checked by the tests of the charts and of the published example.
"""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from sonde.client.reports import report_of
from sonde.clock import NANOSECONDS, iso
from sonde.drawing.cells import format_cell, unit_symbol
from sonde.report.build import Report
from tests.fakes.clock import START_NS
from tests.fakes.reported import (
    LEAD_SECONDS,
    PHASES,
    STEPS,
    TICK_SECONDS,
    TICKS,
    Reported,
    reported_job,
)

OUTLIERS = np.arange(0, STEPS, 25)
METRICS = {
    "CPU utilization": ("cpu.utilization_percent",),
    "I/O wait": ("cpu.iowait_percent",),
    "CPU memory": ("memory.used_percent",),
    "GPU utilization": ("gpu.utilization_percent/gpu0", "gpu.utilization_percent/gpu1"),
    "GPU memory": ("gpu.memory_used_percent/gpu0", "gpu.memory_used_percent/gpu1"),
}


class Tables(HTMLParser):
    """Parses the tables of a page by chart: cell texts and sort keys."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[tuple[str, float | None]]]] = {}
        self._chart = ""
        self._is_cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "figure":
            self._chart = str(named["data-chart"])
            self.rows[self._chart] = []
        if tag == "tr":
            self.rows[self._chart].append([])
        if tag == "td":
            value = named.get("data-value")
            self.rows[self._chart][-1].append(("", None if value is None else float(value)))
            self._is_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._is_cell = False

    def handle_data(self, data: str) -> None:
        if self._is_cell:
            row = self.rows[self._chart][-1]
            row[-1] = (row[-1][0] + data, row[-1][1])


@pytest.fixture(scope="module")
def made() -> Reported:
    return reported_job()


@pytest.fixture(scope="module")
def report(made: Reported) -> Report:
    return report_of(made.jobs[0].backend, made.jobs[0].clock, runs_rules=True)


def table(report: Report, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = report.document["tables"][name]["rows"]
    return rows


def starts(made: Reported, worker: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the start of each training step in seconds; an evaluation follows every 50 steps."""
    before = np.concatenate([[0.0], np.cumsum(made.durations(worker))[:-1]])
    return LEAD_SECONDS + before + 0.25 * (np.arange(STEPS) // 50)


def test_every_table_value_is_in_the_page(report: Report) -> None:
    drawn = Tables(report.html).rows
    tables = {name: each["rows"] for name, each in report.document["tables"].items()}
    compared = 0
    for name, rows in tables.items():
        if not drawn.get(name):  # facts, which the next test checks
            continue
        body = drawn[name][1:]
        assert len(body) == len(rows), name
        for row, cells in zip(rows, body, strict=True):
            for (column, value), (text, sortable) in zip(row.items(), cells, strict=True):
                if isinstance(value, float | int):
                    assert sortable == pytest.approx(float(value), rel=1e-5), (name, column)
                    compared += 1
                elif isinstance(value, str) and column not in ("unit", "time"):
                    assert text == value.replace("`", ""), (name, column)
    assert compared > 200


def test_every_fact_is_in_the_page(report: Report) -> None:
    for each in table(report, "job_details"):
        assert f">{format_cell(each['value'], each['unit'])}<" in report.html


def test_numbers_have_units(report: Report) -> None:
    for cells, row in zip(
        Tables(report.html).rows["resources"][1:], table(report, "resources"), strict=True
    ):
        assert cells[2][0] == unit_symbol(row["unit"])
        assert cells[4][0] == format_cell(row["p50"], row["unit"])


def test_machines_during_outliers_are_compared_sample_by_sample(
    made: Reported, report: Report
) -> None:
    times = TICK_SECONDS * np.arange(TICKS)
    begins, ends = starts(made, 1), starts(made, 1) + made.durations(1)
    steps = np.array(
        [[begin <= at < end for begin, end in zip(begins, ends, strict=True)] for at in times]
    )
    during = steps[:, OUTLIERS].any(axis=1)
    normal = steps.any(axis=1) & ~during
    rows = {row["metric"]: row for row in table(report, "outlier_system")}
    assert set(rows) == set(METRICS)
    for metric, names in METRICS.items():
        values = np.mean([made.samples["node-b"][name] for name in names], axis=0)
        expected = (values[normal].mean(), values[during].mean())
        assert (rows[metric]["normal"], rows[metric]["outliers"]) == pytest.approx(
            expected, rel=1e-5
        )
        assert rows[metric]["difference"] == pytest.approx(expected[1] - expected[0], abs=1e-3)


def test_outliers_list_their_time_and_excess(made: Reported, report: Report) -> None:
    rows = {row["step"]: row for row in table(report, "step_outliers")}
    assert sorted(rows) == OUTLIERS.tolist()
    waits = made.phases[1][:, 0]
    median = np.median(np.delete(waits, OUTLIERS))
    for step, row in rows.items():
        assert row["worker"] == 1
        assert row["excess"] == pytest.approx(waits[step] - median)
        at_ns = START_NS + round(float(starts(made, 1)[step]) * NANOSECONDS)
        assert row["time"][:23] == iso(at_ns)[:23]
    lost = made.durations(1)[OUTLIERS] - np.median(np.delete(made.durations(1), OUTLIERS))
    share = 100 * lost.sum() / sum(made.durations(worker).sum() for worker in (0, 1))
    note = report.document["notes"]["step_outliers"]
    assert note.startswith("8 training steps exceeded")
    assert f"({share:.1f}% of step time)" in note


def test_remaining_step_charts_match_numpy(made: Reported, report: Report) -> None:
    for row in table(report, "step_statistics"):
        if row["mode"] == "train":
            assert row["deviation"] == pytest.approx(made.durations(row["worker"]).std())
        else:
            assert (row["steps"], row["mean"]) == (4, pytest.approx(0.25))
    spent = np.concatenate([made.phases[0], made.phases[1]])
    rows = {row["phase"]: row for row in table(report, "phase_time")}
    for index, phase in enumerate(PHASES):
        row = rows[phase.replace("_", " ")]
        assert row["mean"] == pytest.approx(spent[:, index].mean())
        assert row["p50"] == pytest.approx(np.median(spent[:, index]))


def test_remaining_system_charts_match_numpy(made: Reported, report: Report) -> None:
    for row in table(report, "batch_size"):
        node = row["gpu"].split()[0]
        cpu = np.percentile(made.samples[node]["cpu.utilization_percent"], 95)
        assert row["cpu_p95"] == pytest.approx(cpu, rel=1e-6)
    for name, held_up, lowest in (
        ("cpu_bottleneck/0", "cpu.utilization_percent", 90),
        ("io_bottleneck/0", "cpu.iowait_percent", 50),
    ):
        for row in table(report, name):
            samples = made.samples[row["node"]]
            gpus = np.mean(
                [samples[f"gpu.utilization_percent/gpu{each}"] for each in (0, 1)], axis=0
            )
            both = (gpus < 10) & (samples[held_up] > lowest)
            assert row["held_up"] == pytest.approx(100 * both.mean())
            assert row["samples"] == TICKS


def test_rules_chart_matches_the_evaluations(made: Reported, report: Report) -> None:
    standing = {rule["rule"]: rule for rule in report.document["rules"]}
    rows = [
        row
        for name, each in report.document["tables"].items()
        if name.startswith("rules/")
        for row in each["rows"]
    ]
    assert {row["rule"] for row in rows} == set(standing)
    for row in rows:
        evaluation = standing[row["rule"]]
        assert (row["triggered"], row["datapoints"]) == (
            evaluation["triggered"],
            evaluation["datapoints"],
        )
    assert standing["StepOutlier"]["datapoints"] == 2 * (STEPS + 4)  # of both modes
