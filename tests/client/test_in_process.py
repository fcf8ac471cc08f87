"""Recording of the current process: what belongs to it, and how it ends."""

import os
import sys

import pytest

from sonde.client import in_process
from sonde.client.in_process import InsideJob, _Leaving, _warn_if_other


class _Recording:
    """A recording of a process."""

    name = "first"

    def __init__(self, pid: int) -> None:
        self.pid = pid


@pytest.mark.parametrize(
    ("status", "code"), [(None, 0), (0, 0), (3, 3), (True, 1), (-1, 255), ("an error", 1)]
)
def test_the_exit_code_is_that_of_the_status(status: object, code: int) -> None:
    assert _Leaving.now(status).code == code


def test_an_exit_that_the_script_catches_does_not_end_it() -> None:
    leaving = _Leaving.now(3)
    assert leaving.frame is not None
    outermost = _Leaving(3, leaving.frame, leaving.frame.f_lasti)
    assert outermost.is_uncaught()
    assert not _Leaving(3, leaving.frame, leaving.frame.f_lasti - 2).is_uncaught()
    assert not _Leaving(3, None, 0).is_uncaught()


def test_a_forked_child_does_not_continue_the_recording_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(InsideJob, "current", _Recording(os.getpid()))
    assert InsideJob.of_process() is InsideJob.current
    monkeypatch.setattr(InsideJob, "current", _Recording(os.getpid() + 1))
    assert InsideJob.of_process() is None


def test_starting_another_job_warns_that_the_first_is_still_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(InsideJob, "current", _Recording(os.getpid()))
    _warn_if_other("first")
    _warn_if_other(None)
    with pytest.warns(UserWarning, match="already recording 'first'"):
        _warn_if_other("second")


def test_the_command_of_a_script_is_its_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "ps1", raising=False)
    monkeypatch.setattr(sys, "orig_argv", ["python", "train.py", "--lr", "0.1"])
    assert in_process._command() == ("python", "train.py", "--lr", "0.1")


def test_nothing_is_recorded_while_sonde_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "is_disabled", lambda: True)
    in_process.start(name="unused")
    assert InsideJob.current is None
