"""A part that fails is switched off alone, and the rest goes on."""

import subprocess
import sys

import pytest

from sonde.guard import Guard


def fail() -> int:
    raise ValueError("broken")


def test_what_works_is_passed_through() -> None:
    guard = Guard()
    assert guard.call("part", lambda: 3, 0) == 3
    assert guard.attempt("part", lambda: 4, 0) == 4
    assert guard.failed == {}


def test_a_part_that_failed_once_is_not_called_again() -> None:
    guard = Guard()
    calls = []
    assert guard.call("part", fail, -1) == -1
    assert guard.call("part", lambda: calls.append(1), None) is None
    assert not calls
    assert guard.call("another", lambda: 5, 0) == 5
    assert guard.failed == {"part": "ValueError: broken"}


def test_an_attempt_is_made_again_and_again() -> None:
    guard = Guard()
    assert guard.attempt("flush", fail, -1) == -1
    assert guard.attempt("flush", lambda: 6, -1) == 6
    assert guard.failed == {}


def test_a_failure_is_told_once() -> None:
    told: list[tuple[str, str]] = []
    guard = Guard(lambda part, error: told.append((part, str(error))))
    for _ in range(3):
        guard.call("part", fail, 0)
        guard.attempt("flush", fail, 0)
    assert told == [("part", "broken")]


def test_leaving_is_not_a_failure() -> None:
    guard = Guard()

    def leave() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard.call("part", leave, None)
    assert guard.failed == {}


def test_the_traceback_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    Guard().call("part", fail, 0)
    Guard().attempt("flush", fail, 0)
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert all(record.exc_info for record in caplog.records)


def test_where_nobody_asked_for_a_log_nothing_is_printed() -> None:
    code = "from sonde.guard import Guard; Guard().call('part', lambda: 1 / 0, 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
