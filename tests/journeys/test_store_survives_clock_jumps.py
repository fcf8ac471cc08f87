"""The system clock is set while a job runs: recorded times stay in order.

The recording is real. Only the clock of this process is changed, not the machine's.
"""

import subprocess
import time
import uuid
from pathlib import Path

import pytest

from sonde.agent import heartbeat
from sonde.agent.recording import Recording
from sonde.agent.registration import Registration
from sonde.clock import SystemClock
from sonde.formats import format_duration
from sonde.read.jobs import read_job
from sonde.records.job import Attempt, Exit, ExitReason, JobInfo, JobState
from sonde.records.notice import NoticeKind
from sonde.settings import RunSettings
from sonde.store.backends import open_backend
from sonde.store.facts import encode_facts
from sonde.store.layout import JOB
from sonde.store.presence import this_process
from tests.fakes.eventually import eventually
from tests.fakes.job import FakeJob


def attempt_of(pid: int, clock: SystemClock) -> Attempt:
    return Attempt(
        node="node-a",
        number=1,
        start_ns=clock.now_ns(),
        command=("sleep", "600"),
        folder=str(Path.cwd()),
        process_pid=pid,
        launcher=this_process(),
        interval_seconds=0.1,
    )


@pytest.mark.parametrize("jump_seconds", [-3600, 3600])
def test_times_stay_in_order_and_the_jump_is_reported(
    monkeypatch: pytest.MonkeyPatch, jump_seconds: int
) -> None:
    monkeypatch.setattr(heartbeat, "_INTERVAL_SECONDS", 0.1)
    backend = open_backend(f"memory://{uuid.uuid4().hex}/job")
    monkeypatch.setattr(backend, "flush_seconds", 0.1)
    clock = SystemClock()
    backend.write(JOB, encode_facts(JobInfo("job", clock.now_ns(), "node-a")))
    registration = Registration("job", "node-a", 1, backend, is_creator=True)
    recording = Recording(
        registration, RunSettings(interval_seconds=0.1), clock, lambda _request: ""
    )
    command = subprocess.Popen(["sleep", "600"])
    recording.start(attempt_of(command.pid, clock))

    def notices() -> list[str]:
        facts = read_job(backend, clock.now_ns())
        return [notice.reason for notice in facts.notices if notice.kind is NoticeKind.CLOCK_JUMPED]

    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + jump_seconds * 10**9)
    is_reported = eventually(notices)
    command.kill()
    command.wait()
    recording.finish(Exit(JobState.STOPPED, ExitReason.SIGNAL, clock.now_ns()))

    assert is_reported
    (reason,) = notices()
    direction = "forward" if jump_seconds > 0 else "back"
    assert f"set {direction} by {format_duration(abs(jump_seconds))}" in reason
    fake = FakeJob(backend.uri, "reader")
    fake.node = "node-a"
    system = fake.system()
    times, _ = system.samples(system.series())
    assert (times[1:] > times[:-1]).all()
    assert (times[-1] - times[0]) / 1e9 < 60
    assert abs(int(times[-1]) - real()) / 1e9 < 60
