"""Report of a running job: rewritten when findings change, at a bounded cost."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.cli.options.recording import with_options
from sonde.clock import SystemClock
from sonde.engine.report_refresh import ReportRefresh
from sonde.read.jobs import read_job
from sonde.records.finding import Episode
from sonde.settings import RunSettings
from sonde.side_process import SideProcess
from sonde.store.layout import report_key
from sonde.store.report_cost import keep_report_cost
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.fakes.job import FakeJob
from tests.fakes.occasions import episode

EPISODE = [episode()]


class FakeProcess(SideProcess):
    """Ends when the test calls `end`, with the given CPU time."""

    def __init__(self) -> None:
        super().__init__((), FakeClock())
        self.starts = 0
        self.is_busy = False
        self.spent = 0.0

    @property
    def cpu_seconds(self) -> float:
        return self.spent

    def is_running(self) -> bool:
        return self.is_busy

    def start(self, errors: object = None) -> None:
        self.starts += 1
        self.is_busy = True

    def end(self, cpu_seconds: float) -> None:
        self.is_busy = False
        self.spent += cpu_seconds

    def finish(self, seconds: float) -> bool:
        self.is_busy = False
        return False


@dataclass
class Stage:
    """A watcher that polls every two seconds."""

    job: FakeJob = field(default_factory=FakeJob)
    process: FakeProcess = field(default_factory=FakeProcess)

    def __post_init__(self) -> None:
        self.refreshing = ReportRefresh(self.process, self.job.backend, self.job.clock)

    def poll(self, seconds: float, episodes: Callable[[], list[Episode]] = list) -> int:
        """Poll for that many seconds and return the number of reports started."""
        before = self.process.starts
        for _ in range(round(seconds / 2)):
            self.refreshing.take(episodes())
            self.job.clock.advance(2)
        return self.process.starts - before

    @property
    def cost(self) -> float:
        return read_job(self.job.backend, self.job.clock.now_ns()).report_seconds


def test_no_report_is_written_without_findings() -> None:
    assert Stage().poll(10_000) == 0


def test_the_first_report_follows_soon_after_the_first_finding() -> None:
    stage = Stage()
    stage.poll(200)
    assert stage.poll(2, lambda: EPISODE) == 0
    assert stage.poll(8) == 1


def test_a_report_of_a_short_job_is_only_written_at_its_end() -> None:
    stage = Stage()
    assert stage.poll(110, lambda: EPISODE) == 0
    assert stage.poll(20) == 1


def test_only_one_report_is_written_at_a_time() -> None:
    stage = Stage()
    assert stage.poll(10_000, lambda: EPISODE) == 1


def test_in_the_long_run_reports_use_a_five_hundredth_of_a_core() -> None:
    stage = Stage()

    def result() -> list[Episode]:
        if stage.process.is_busy:
            stage.process.end(cpu_seconds=1.0)
        return EPISODE

    assert 18 <= stage.poll(10_000, result) <= 21
    assert stage.cost == stage.process.spent


def test_cheap_reports_are_a_minute_apart() -> None:
    stage = Stage()

    def result() -> list[Episode]:
        stage.process.end(cpu_seconds=0.0)
        return EPISODE

    assert 9 <= stage.poll(720, result) <= 10


def test_an_unchanged_report_is_not_written_again() -> None:
    stage = Stage()
    stage.poll(130, lambda: EPISODE)
    stage.process.end(1.0)
    assert stage.poll(600) == 1  # a finding arrived while the first report was written
    stage.process.end(1.0)
    assert stage.poll(10_000) == 0


def test_the_stored_cost_of_reports_is_removed_at_the_end() -> None:
    stage = Stage()
    stage.poll(130, lambda: EPISODE)
    stage.process.end(3.0)
    stage.poll(2)
    assert stage.cost == 3.0
    stage.refreshing.close()
    assert stage.cost == 0.0


def test_the_cost_stored_by_a_killed_watcher_is_not_counted_twice() -> None:
    stage = Stage()
    keep_report_cost(stage.job.backend, stage.job.clock, 5.0)
    assert stage.cost == 5.0
    stage.poll(2)
    assert stage.cost == 0.0


def test_a_failing_store_does_not_stop_report_refreshes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()

    def fail(_key: str) -> bool:
        raise OSError("gone")

    monkeypatch.setattr(stage.job.backend, "exists", fail)
    assert stage.poll(140, lambda: EPISODE) == 1


def test_the_cpu_time_of_child_processes_is_counted() -> None:
    busy = "import time\nwhile time.process_time() < 0.1: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    process = SideProcess((sys.executable, "-c", code), SystemClock())
    process.start()
    assert eventually(lambda: not process.is_running())
    assert process.cpu_seconds >= 0.1


def test_the_report_of_a_running_job_shows_recorded_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = []
    monkeypatch.setattr("sonde.cli.report._lower_priority", lambda: requests.append("step back"))
    later = FakeClock(SystemClock().now_ns() + 10**15)  # a job started then still runs
    job = FakeJob(str(tmp_path / "job"), clock=later)
    assert run_command_line(["report", job.backend.uri, "--refresh"]) == 0
    assert requests == ["step back"]
    assert json.loads(job.backend.read(report_key("report.json")))["rules"] == []


def test_refreshing_the_report_of_a_finished_job_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.cli.report._lower_priority", lambda: None)
    job = FakeJob(str(tmp_path / "job")).end()
    assert run_command_line(["report", job.backend.uri, "--refresh"]) == 0
    assert not job.backend.exists(report_key("report.html"))


def test_the_costs_of_final_reports_add_up(tmp_path: Path) -> None:
    job = FakeJob(str(tmp_path / "job")).end()
    assert run_command_line(["report", job.backend.uri, "--at-end"]) == 0
    once = read_job(job.backend, job.clock.now_ns()).report_seconds
    assert once > 0
    assert run_command_line(["report", job.backend.uri, "--at-end"]) == 0
    assert read_job(job.backend, job.clock.now_ns()).report_seconds > once


def test_the_option_reaches_the_watcher() -> None:
    settings = RunSettings()
    assert settings.actions.words == ()
    unset = dict.fromkeys(("interval", "name", "store", "price_per_gpu_hour"))
    options = argparse.Namespace(no_report=True, **unset)
    assert with_options(settings, options).actions.words == ("--no-report",)
