"""`sonde profile` sends requests to workers and prints their replies."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.clock import SystemClock
from sonde.records.job import JobState
from sonde.records.request import Request, RequestKind
from sonde.store.control import Inbox
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob

WAIT_SECONDS = 30.0


@contextmanager
def answering(job: FakeJob, *workers: int, is_done: bool = True) -> Iterator[list[Request]]:
    """Workers that answer all requests."""
    inboxes = [Inbox(job.backend, f"worker-{rank}") for rank in workers]
    heard: list[Request] = []
    is_over = threading.Event()

    def answer() -> None:
        while not is_over.wait(0.01):
            for inbox in inboxes:
                for request in inbox.new_requests():
                    heard.append(request)
                    inbox.reply(request, job.clock, is_done=is_done, message="python in step 7")

    thread = threading.Thread(target=answer)
    thread.start()
    yield heard
    is_over.set()
    thread.join(WAIT_SECONDS)


@pytest.fixture
def job(tmp_path: Path) -> FakeJob:
    """A job that has just started, so that it does not count as lost."""
    return FakeJob(str(tmp_path / "job"), clock=FakeClock(SystemClock().now_ns()))


def test_request_goes_to_all_training_workers(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    job.worker(0, world_size=3).beat()
    job.worker(1, world_size=3).beat()
    job.worker(2, world_size=3).beat(is_over=True)
    with answering(job, 0, 1) as heard:
        words = ["profile", job.backend.uri, "--steps", "10", "--kinds", "python"]
        assert run_command_line([*words, "--option", "profiler=cprofile"]) == 0

    assert capsys.readouterr().out == "worker-0, worker-1: python in step 7\n"
    assert heard[0].kind is RequestKind.PROFILE
    requested = dict(heard[0].arguments)
    assert requested.pop("by").endswith("(sonde profile)")
    assert requested == {"kinds": "python", "steps": "10", "profiler": "cprofile"}


def test_seconds_accept_units(job: FakeJob) -> None:
    job.worker(0).beat()
    with answering(job, 0) as heard:
        assert run_command_line(["profile", job.backend.uri, "--seconds", "500ms"]) == 0
        assert run_command_line(["profile", job.backend.uri, "--seconds", "3"]) == 0

    assert [entry.arguments["seconds"] for entry in heard] == ["0.5", "3"]
    assert heard[0].arguments["kinds"] == "operators,dataloader,python"


def test_refused_request_sets_the_exit_code(job: FakeJob) -> None:
    job.worker(0).beat()
    with answering(job, 0, is_done=False):
        assert run_command_line(["profile", job.backend.uri, "--json"]) == 1


def test_job_without_training_is_not_profiled(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["profile", job.backend.uri]) == 1
    assert capsys.readouterr().err == "sonde: Job 'job' is running, but no process is training.\n"
    job.end(JobState.COMPLETED)
    assert run_command_line(["profile", job.backend.uri]) == 1
    assert "is not running (completed)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--steps", "ten"), "'ten'"),
        (("--steps", "0"), "1 or more"),
        (("--steps", "1", "--seconds", "1"), "cannot be combined"),
        (("--seconds", "soon"), "'soon"),
        (("--kinds", "colours"), "'colours'"),
        (("--option", "timer"), "'timer'"),
        (("--option", "colour=red"), "colour=red"),
    ],
)
def test_invalid_profile_request_is_a_usage_error(
    job: FakeJob, words: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job.worker(0).beat()
    assert run_command_line(["profile", job.backend.uri, *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert named in line
