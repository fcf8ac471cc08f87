"""Data loader processes are profiled for some batches, however they were started."""

import pytest

from sonde.analyze.loading import LoaderReport
from tests.journeys.scripts import EVERYTHING_SAVED, Scripts
from tests.journeys.sonde_cli import Sonde

pytestmark = pytest.mark.timeout(600)


def report_of(scripts: Scripts, name: str) -> LoaderReport:
    [report] = scripts.job(name).dataloader().reports
    return report


def test_a_slow_transformation_in_a_spawned_process_is_named(scripts: Scripts) -> None:
    report = report_of(scripts, "loader_spawned")
    facts = report.record.facts
    assert (facts.processes, facts.start_method, facts.dataset) == (1, "spawn", "Points")
    assert report.slowest is not None
    assert (report.slowest.name, report.slowest.file) == ("Blur.__call__", "loader_spawned.py")
    assert report.slowest.percent > 80
    topics = {start.about: start.text for start in report.advice}
    assert "Blur.__call__ (loader_spawned.py:" in topics["function"]
    batches, items = report.seconds("batch"), report.seconds("items")
    assert batches is not None
    assert items is not None
    assert items.count == 2  # profiled, of the process that existed before the window
    assert batches.count > 2  # and batches remembered from before
    assert batches.p25 > 8 * 0.004
    assert [start.time_ns for start in report.record.starts] == sorted(
        start.time_ns for start in report.record.starts
    )
    assert len(report.record.starts) == 4


def test_the_healthy_twin_has_no_finding(scripts: Scripts) -> None:
    report = report_of(scripts, "loader_workers")
    assert (report.record.facts.processes, report.record.facts.start_method) == (2, "fork")
    assert "function" not in [entry.about for entry in report.advice]
    assert report.seconds("batch") is not None


def test_the_command_line_names_the_slow_transformation(scripts: Scripts, sonde: Sonde) -> None:
    scripts.run("loader_spawned")
    done = sonde.run("dataloader", "job", cwd=scripts.folder("loader_spawned", EVERYTHING_SAVED))
    assert done.returncode == 0
    assert "is spent in Blur.__call__ (loader_spawned.py:" in done.stdout.decode()
