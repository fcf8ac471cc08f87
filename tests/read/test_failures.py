"""Exit reasons from workers complete the exit that the launcher recorded."""

from dataclasses import replace
from typing import Any

import pytest

from sonde.read.failures import explain_exit, failed_collective, first_failure
from sonde.read.jobs import read_job
from sonde.read.status import status_document
from sonde.records.job import Exit, ExitReason, JobState
from sonde.records.worker import Failure
from sonde.store.facts import encode_facts
from sonde.store.layout import worker_key
from tests.fakes.job import FakeJob

FAILURE = Failure(2, 7, ExitReason.DEVICE_OUT_OF_MEMORY, "OutOfMemoryError: full", "Trace", "sizes")
EXIT = Exit(JobState.FAILED, ExitReason.EXIT, 9, code=1, message="exit code 1")


def exit_of(job: FakeJob) -> dict[str, Any]:
    now_ns = job.clock.now_ns()
    exit_ = status_document(read_job(job.backend, now_ns), now_ns)["exit"]
    assert isinstance(exit_, dict)
    return dict(exit_)


def test_an_unexplained_exit_uses_the_reason_of_the_worker() -> None:
    explained = explain_exit(EXIT, FAILURE)
    assert (explained.reason, explained.worker) == (ExitReason.DEVICE_OUT_OF_MEMORY, 2)
    assert explained.message == "OutOfMemoryError: full"
    assert explained.traceback == "Trace\nsizes"
    assert (explained.code, explained.state) == (1, JobState.FAILED)


@pytest.mark.parametrize("hint", ["memory ran out meanwhile (kills: 1)", None])
def test_facts_known_only_to_the_launcher_are_kept(hint: str | None) -> None:
    """Version 0.1 recorded the hint only as the end of the message."""
    hinted = replace(EXIT, message="exit code 1; memory ran out meanwhile (kills: 1)", hint=hint)
    message = explain_exit(hinted, FAILURE).message
    assert message == "OutOfMemoryError: full; memory ran out meanwhile (kills: 1)"


def test_a_message_that_contains_a_semicolon_is_not_mistaken_for_a_hint() -> None:
    exit_ = replace(EXIT, message="exit code 1; 2", hint="")
    assert explain_exit(exit_, FAILURE).message == "OutOfMemoryError: full"


def test_the_failed_collective_is_known() -> None:
    collective = replace(FAILURE, detail="in a collective: allreduce", collective="allreduce")
    of_version_0_1 = replace(FAILURE, detail="in a collective: allreduce")
    assert failed_collective(collective) == failed_collective(of_version_0_1) == "allreduce"
    assert failed_collective(FAILURE) == ""


@pytest.mark.parametrize(
    "judged",
    [
        replace(EXIT, state=JobState.STOPPED, reason=ExitReason.STOPPED),
        replace(EXIT, state=JobState.COMPLETED, code=0),
        replace(EXIT, reason=ExitReason.SIGNAL, message="killed by SIGKILL"),
        replace(EXIT, reason=ExitReason.HOST_OUT_OF_MEMORY),
        replace(EXIT, reason=ExitReason.EXCEPTION, traceback="the first one's", worker=0),
    ],
)
def test_a_reason_found_by_the_launcher_is_kept(judged: Exit) -> None:
    assert explain_exit(judged, FAILURE) == judged


def test_the_first_failed_worker_is_the_cause() -> None:
    job = FakeJob()
    early, late = job.worker(3), job.worker(1)
    job.clock.advance(1)
    early.fail("ValueError: a bad batch")
    job.clock.advance(1)
    late.fail("RuntimeError: connection closed by peer")
    explained = exit_of(job.fail())
    assert (explained["worker"], explained["reason"]) == (3, "exception")
    assert explained["message"] == "ValueError: a bad batch"
    assert explained["traceback"].startswith("Traceback")


def test_a_failure_recovered_by_a_restart_is_not_the_cause() -> None:
    job = FakeJob()
    job.worker(0).fail("ValueError: survived")
    job.clock.advance(1)
    job.worker(0, restart=1)
    job.worker(1).fail("RuntimeError: for good")
    assert exit_of(job.fail())["worker"] == 1


def test_failures_of_another_attempt_are_not_the_cause() -> None:
    job = FakeJob()
    job.worker(0, attempt=2).fail("ValueError: of the second attempt")
    assert first_failure(read_job(job.backend, 0).lives, 1) is None
    assert exit_of(job.fail())["message"] == "exit code 1"


def test_a_worker_that_died_before_training_is_considered() -> None:
    job = FakeJob()
    job.worker(0).fail("ValueError: survived")
    job.clock.advance(1)
    late = Failure(0, job.clock.now_ns(), ExitReason.EXCEPTION, "OSError: no network", "Trace")
    job.backend.write(worker_key(0, 1, 1, "failure"), encode_facts(late))
    assert exit_of(job.fail())["message"] == "OSError: no network"
