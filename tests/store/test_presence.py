"""Whether a launcher lives: by looking for it on this machine, else by its signs of life."""

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


def test_a_launcher_of_this_machine_is_there_while_its_process_is() -> None:
    job = FakeJob()
    attempt = replace(attempt_of(job), launcher=this_process())

    assert is_present(job.backend, attempt, after(10_000))


def test_another_process_of_the_same_number_is_not_taken_for_it() -> None:
    job = FakeJob()
    here = this_process()
    attempt = replace(attempt_of(job), launcher=replace(here, started="1"))

    assert not is_present(job.backend, attempt, after(0))


def test_a_process_that_has_ended_is_not_there_though_nobody_has_collected_it() -> None:
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
def test_elsewhere_three_missed_signs_of_life_and_some_slack_are_the_end(
    seconds: float, expected: bool
) -> None:
    job = FakeJob()
    beat = Heartbeat(START_NS, 5.0, Overhead(0, 0, 1))
    job.backend.write(BEAT, encode_facts(beat))

    assert is_present(job.backend, attempt_of(job), after(seconds)) is expected


@pytest.mark.parametrize(("seconds", "expected"), [(15, True), (17, False)])
def test_before_its_first_sign_of_life_a_launcher_has_some_time(
    seconds: float, expected: bool
) -> None:
    job = FakeJob()

    assert is_present(job.backend, attempt_of(job), after(seconds)) is expected


def test_an_unreadable_sign_of_life_is_none() -> None:
    job = FakeJob()
    job.backend.write(BEAT, b"not a document")

    assert last_heartbeat(job.backend, "node-a", 1) is None


def test_this_process_can_be_told_from_others() -> None:
    here = this_process()

    assert isinstance(here, Launcher)
    assert here.pid == os.getpid()
    assert here.started.isdigit()
    assert here.space
