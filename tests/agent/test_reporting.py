"""The report at the end of a job, in a separate process."""

import sys
import uuid

from sonde.agent.reporting import RUNS_ELSEWHERE, Reporter, reporting_command
from sonde.clock import SystemClock
from sonde.store.backends import open_backend
from sonde.store.report_writing import is_report_written_now, unmark_report


def reporter(code: str, *, is_enabled: bool = True) -> Reporter:
    backend = open_backend(f"memory://{uuid.uuid4().hex}/job")
    command = (sys.executable, "-c", code)
    return Reporter(backend, command, SystemClock(), is_enabled=is_enabled)


def test_report_is_written_when_its_process_succeeds() -> None:
    writer = reporter("")
    writer.write(60)
    assert writer.is_written
    assert writer.problem is None


def test_failed_report_process_is_reported() -> None:
    writer = reporter("raise SystemExit(1)")
    writer.write(60)
    assert not writer.is_written
    assert writer.problem == "the report process exited with code 1"


def test_report_left_to_another_node_is_not_a_problem() -> None:
    writer = reporter(f"raise SystemExit({RUNS_ELSEWHERE})")
    writer.write(60)
    assert (writer.is_written, writer.problem) == (False, None)


def test_slow_report_process_is_stopped() -> None:
    writer = reporter("import time; time.sleep(600)")
    writer.write(0.6)
    assert not writer.is_written
    assert not writer._process.is_running()
    assert writer.problem == "not enough time at the end of the job"


def test_disabled_or_late_report_is_not_started() -> None:
    unwanted, late = reporter("", is_enabled=False), reporter("")
    unwanted.write(60)
    late.write(0.1)
    assert not unwanted.is_written
    assert not late.is_written
    assert unwanted.problem is None
    assert late.problem == "not enough time at the end of the job"


def test_the_command_names_the_job() -> None:
    words = reporting_command("/jobs/resnet")
    assert words[-3:] == ("report", "/jobs/resnet", "--at-end")


def test_a_slow_report_is_left_to_its_process() -> None:
    writer = reporter("import time; time.sleep(600)")
    writer.write(60, patience=0.0)
    assert (writer.is_written, writer.is_left_behind, writer.problem) == (False, True, None)
    assert writer._process.is_running()
    assert is_report_written_now(writer._backend) is True
    writer._process.finish(0.0)
    assert is_report_written_now(writer._backend) is None
    unmark_report(writer._backend)
    assert is_report_written_now(writer._backend) is False


def test_a_quick_report_leaves_no_marker() -> None:
    writer = reporter("")
    writer.write(60, patience=60.0)
    assert (writer.is_written, writer.is_left_behind) == (True, False)
    assert is_report_written_now(writer._backend) is False
