"""A component that fails is switched off, and the rest continues."""

import logging
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest

from sonde.errors import StoppedJobError
from sonde.guard import Guard, error_text, result_or_reason


def fail() -> int:
    raise ValueError("broken")


def fail_with_another_message() -> None:
    raise ValueError("broken too")


def test_results_of_successful_calls_are_passed_through() -> None:
    guard = Guard()
    assert guard.call("part", lambda: 3, 0) == 3
    assert guard.attempt("part", lambda: 4, 0) == 4
    assert guard.failed == {}


def test_a_component_that_failed_is_not_called_again() -> None:
    guard = Guard()
    calls = []
    assert guard.call("part", fail, -1) == -1
    assert guard.call("part", lambda: calls.append(1), None) is None
    assert not calls
    assert guard.call("another", lambda: 5, 0) == 5
    assert guard.failed == {"part": "ValueError: broken"}


def test_a_failed_attempt_can_be_repeated() -> None:
    guard = Guard()
    assert guard.attempt("flush", fail, -1) == -1
    assert guard.attempt("flush", lambda: 6, -1) == 6
    assert guard.failed == {}


def test_a_failure_is_reported_once() -> None:
    reported: list[tuple[str, str]] = []
    guard = Guard(lambda chunk, error: reported.append((chunk, str(error))))
    for _ in range(3):
        guard.call("part", fail, 0)
        guard.attempt("flush", fail, 0)
    assert reported == [("part", "broken")]


def test_a_real_interrupt_is_not_a_failure() -> None:
    guard = Guard()
    # a background process of a shell ignores interrupts
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            guard.call("part", lambda: signal.raise_signal(signal.SIGINT), None)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert guard.failed == {}


def leave_by_name(signum: int, frame: FrameType | None) -> None:
    signal.signal(signum, signal.SIG_IGN)  # as many handlers do, so it cannot be looked up
    raise SystemExit(3)


class Leaving:
    def __call__(self, *arguments: object) -> None:
        raise TimeoutError("the time limit of the script")

    def leave(self, _signum: int, _frame: FrameType | None) -> None:
        raise GeneratorExit


HANDLERS = [leave_by_name, Leaving(), Leaving().leave, partial(leave_by_name)]


@pytest.mark.parametrize("handler", HANDLERS)
def test_what_a_signal_handler_of_the_script_raises_reaches_the_script(
    handler: Callable[[int, FrameType | None], None],
) -> None:
    guard, before = Guard(), signal.getsignal(signal.SIGUSR1)

    def interrupt() -> None:
        signal.signal(signal.SIGUSR1, handler)
        signal.raise_signal(signal.SIGUSR1)

    try:
        for call in (guard.call, guard.attempt):
            with pytest.raises((SystemExit, TimeoutError, GeneratorExit)) as info:
                call("part", interrupt, None)
            assert info.traceback
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert guard.failed == {}


def test_the_traceback_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    Guard().call("part", fail, 0)
    Guard().attempt("flush", fail, 0)
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert all(record.exc_info for record in caplog.records)


def test_nothing_is_printed_without_a_log_handler() -> None:
    code = "from sonde.guard import Guard; Guard().call('part', lambda: 1 / 0, 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


class HostileError(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise SystemExit(3)


def fail_hostile() -> int:
    raise HostileError


def test_an_exception_that_cannot_be_printed_is_suppressed() -> None:
    texts: list[str] = []
    guard = Guard(lambda _component, error: texts.append(str(error)))
    assert error_text(HostileError()) == "HostileError"
    assert guard.call("part", fail_hostile, -1) == -1
    assert guard.attempt("flush", fail_hostile, -1) == -1
    assert guard.failed == {"part": "HostileError"}


def test_a_log_handler_that_fails_does_not_reach_the_caller() -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ValueError("I/O operation on closed file")

    handler = Broken()
    logging.getLogger("sonde").addHandler(handler)
    try:
        assert Guard().call("part", fail, -1) == -1
        assert Guard().attempt("flush", fail, -1) == -1
    finally:
        logging.getLogger("sonde").removeHandler(handler)


def test_a_failing_component_does_not_raise_even_without_stack_left() -> None:
    guard = Guard(lambda _component, _error: fail_with_another_message())

    def descend(depth: int) -> int:
        try:
            return descend(depth + 1)
        except RecursionError:
            assert guard.call("part", fail, -1) == -1
            return depth

    assert descend(0) > 100


def test_a_damaged_sonde_module_that_exits_does_not_end_the_program() -> None:
    code = compile("raise SystemExit(3)", Guard.call.__code__.co_filename, "exec")
    guard = Guard()
    assert guard.call("part", lambda: exec(code), None) is None
    assert guard.attempt("flush", lambda: exec(code), None) is None
    assert guard.failed == {"part": "SystemExit: 3"}


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, BaseException])
def test_no_exception_of_the_code_that_sonde_calls_reaches_the_script(
    kind: type[BaseException],
) -> None:
    def leave() -> None:
        raise kind

    guard = Guard()
    assert guard.attempt("flush", leave, None) is None
    assert guard.call("part", leave, None) is None
    assert list(guard.failed) == ["part"]
    assert result_or_reason(leave, ())[1].startswith(kind.__name__)


def test_the_reason_of_a_failure_is_returned_unless_it_is_raised() -> None:
    assert result_or_reason(lambda: 3, ()) == (3, "")
    assert result_or_reason(fail, ()) == (None, "ValueError: broken")
    with pytest.raises(ValueError, match="broken"):
        result_or_reason(fail, (ValueError,))


def test_the_stop_of_a_job_passes_the_guard() -> None:
    def stop() -> None:
        raise StoppedJobError("a reason", "the job is stopped")

    guard = Guard()
    with pytest.raises(StoppedJobError):
        guard.shield("stops", stop, None)()
    assert guard.failed == {}
