"""Whether a launcher is alive: by its process on this machine, else by its heartbeat."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from sonde.clock import NANOSECONDS
from sonde.records.job import Attempt, Heartbeat, Launcher, Overhead
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import attempt_key
from sonde.store.presence import _started, is_present, last_heartbeat, this_process
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob

BEAT = attempt_key("node-a", 1, "heartbeat")


def attempt_of(job: FakeJob) -> Attempt:
    key = attempt_key("node-a", 1, "start")
    return decode_facts(Attempt, job.backend.read(key), key)


def after(seconds: float) -> int:
    return START_NS + int(seconds * NANOSECONDS)


def test_a_launcher_on_this_machine_is_present_while_its_process_runs() -> None:
    job = FakeJob()
    attempt = replace(attempt_of(job), launcher=this_process())

    assert is_present(job.backend, attempt, after(10_000))


def test_another_process_with_the_same_pid_is_not_the_launcher() -> None:
    job = FakeJob()
    here = this_process()
    attempt = replace(attempt_of(job), launcher=replace(here, started="1"))

    assert not is_present(job.backend, attempt, after(0))


def test_a_zombie_process_is_not_alive() -> None:
    job = FakeJob()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    launcher = replace(this_process(), pid=child.pid, started=_started(child.pid))
    attempt = replace(attempt_of(job), launcher=launcher)
    assert is_present(job.backend, attempt, after(0))

    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not is_present(job.backend, attempt, after(0))
    child.wait()


@pytest.mark.parametrize(("seconds", "expected"), [(24, True), (26, False)])
def test_on_another_machine_three_missed_heartbeats_mean_it_is_gone(
    seconds: float, expected: bool
) -> None:
    job = FakeJob()
    beat = Heartbeat(START_NS, 5.0, Overhead(0, 0, 1))
    job.backend.write(BEAT, encode_facts(beat))

    assert is_present(job.backend, attempt_of(job), after(seconds)) is expected


@pytest.mark.parametrize(("seconds", "expected"), [(15, True), (17, False)])
def test_a_launcher_without_a_heartbeat_yet_is_present_for_a_while(
    seconds: float, expected: bool
) -> None:
    job = FakeJob()

    assert is_present(job.backend, attempt_of(job), after(seconds)) is expected


def test_an_unreadable_heartbeat_is_ignored() -> None:
    job = FakeJob()
    job.backend.write(BEAT, b"not a document")

    assert last_heartbeat(job.backend, "node-a", 1) is None


def test_this_process_has_a_unique_identity() -> None:
    here = this_process()

    assert isinstance(here, Launcher)
    assert here.pid == os.getpid()
    assert here.started.isdigit()
    assert here.space
