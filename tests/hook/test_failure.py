"""Failure reasons derived from the exception that ended a process."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sonde.hook.failure import NO_RANK, describe, report, watch_threads
from sonde.records.job import ExitReason
from sonde.records.worker import Failure
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import decode_facts


class DistBackendError(RuntimeError):
    """An exception with the name that torch uses."""


class OutOfMemoryError(RuntimeError):
    """An exception with the name that torch uses."""


class ChildFailedError(Exception):
    """The exception that torchrun raises."""

    def __init__(self, rank: int, exitcode: int, signal: str = "") -> None:
        super().__init__("a long table")
        self._first = (rank, SimpleNamespace(exitcode=exitcode, signal_name=lambda: signal))

    def get_first_failure(self) -> tuple[int, Any]:
        return self._first


def caught(function: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as info:  # noqa: PT011
        function()
    return info.value


def raising(error: BaseException) -> BaseException:
    def fail() -> None:
        raise error

    return caught(fail)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A job that this process belongs to, without a rank."""
    for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("SONDE_WORKER_URI", "SONDE_DISABLE", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SONDE_JOB_URI", str(tmp_path / "job"))
    monkeypatch.setenv("SONDE_NODE", "node-a")
    monkeypatch.setenv("SONDE_ATTEMPT", "2")
    monkeypatch.setattr(os, "getpid", lambda: 42)
    monkeypatch.setattr(os, "getppid", lambda: 41)
    return open_backend(str(tmp_path / "job"))


def written(job: Backend) -> dict[str, Failure]:
    keys = [entry.key for entry in job.entries("")]
    return {key: decode_facts(Failure, job.read(key), key) for key in keys}


def test_an_exception_is_described_by_its_message_and_traceback() -> None:
    failure = describe(raising(ValueError("no data")), 5, 1)
    assert (failure.rank, failure.time_ns, failure.reason) == (1, 5, ExitReason.EXCEPTION)
    assert failure.message == "ValueError: no data"
    assert "in fail" in failure.traceback


def test_syntax_error_message_is_not_its_location() -> None:
    failure = describe(caught(lambda: compile("x = (", "train.py", "exec")), 5, 0)
    assert failure.message.startswith("SyntaxError: ")


def test_notes_and_causes_are_in_the_traceback() -> None:
    error = ValueError("outer")
    error.add_note("while loading")
    error.__cause__ = KeyError("inner")
    failure = describe(raising(error), 5, 0)
    assert failure.message == "ValueError: outer"
    assert "while loading" in failure.traceback
    assert "KeyError: 'inner'" in failure.traceback


@pytest.mark.parametrize(
    "error",
    [
        OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("HIP out of memory"),
    ],
)
def test_device_out_of_memory_has_its_own_reason(error: BaseException) -> None:
    wrapped = RuntimeError("step failed")
    wrapped.__cause__ = error
    for raised in (error, wrapped):
        assert describe(raising(raised), 5, 0).reason is ExitReason.DEVICE_OUT_OF_MEMORY


def test_out_of_memory_includes_the_allocator_summary_if_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = SimpleNamespace(is_initialized=lambda: True, memory_summary=lambda: "79 GiB")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert describe(OutOfMemoryError(), 5, 0).detail == "79 GiB"
    cuda.memory_summary = lambda: 1 / 0
    assert describe(OutOfMemoryError(), 5, 0).detail == ""


@pytest.mark.parametrize(
    ("error", "collective"),
    [
        (DistBackendError("NCCL error"), "unknown"),
        (RuntimeError("WorkNCCL(SeqNum=5, OpType=ALLREDUCE, …) ran for 600000 ms"), "allreduce"),
        (RuntimeError("[gloo/transport/tcp/pair.cc:1] Timed out"), "unknown"),
    ],
)
def test_failed_collective_is_named(error: BaseException, collective: str) -> None:
    failure = describe(raising(error), 5, 0)
    assert failure.reason is ExitReason.EXCEPTION
    assert failure.collective == collective
    assert failure.detail == f"in a collective: {collective}"


def test_keyboard_interrupt_counts_as_a_signal() -> None:
    assert describe(KeyboardInterrupt(), 5, 0).reason is ExitReason.SIGNAL


def test_exit_after_an_exception_reports_that_exception() -> None:
    def child() -> None:
        try:
            int("the cause")
        except ValueError:
            sys.exit(1)

    failure = describe(caught(child), 5, 0)
    assert failure.reason is ExitReason.EXCEPTION
    assert failure.message.startswith("ValueError: invalid literal")


def test_long_traceback_keeps_its_beginning_and_end() -> None:
    failure = describe(raising(ValueError("x" * 300_000)), 5, 0)
    assert failure.traceback.startswith("Traceback")
    assert len(failure.traceback) < 110_000
    assert len(failure.message) <= 4_000


def test_failure_of_a_process_without_rank_is_stored_with_its_node(job: Backend) -> None:
    report(raising(ValueError("no data")))
    ((key, failure),) = written(job).items()
    assert key == "nodes/node-a/attempt-002/failure-41-42.json"
    assert (failure.rank, failure.message) == (NO_RANK, "ValueError: no data")


def test_failure_of_a_worker_is_stored_with_its_records(
    job: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "3")
    report(raising(ValueError("no data")))
    ((key, failure),) = written(job).items()
    assert key == "workers/5/attempt-002.3/failure.json"
    assert failure.rank == 5


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (ChildFailedError(1, 3), ExitReason.EXIT, "exit code 3"),
        (ChildFailedError(1, -9, "SIGKILL"), ExitReason.SIGNAL, "killed by SIGKILL"),
    ],
)
def test_failure_of_a_child_reported_by_torch_is_recorded(
    job: Backend, error: BaseException, reason: ExitReason, message: str
) -> None:
    report(raising(error))
    ((key, failure),) = written(job).items()
    assert key == "nodes/node-a/attempt-002/handed-on-42.json"
    assert (failure.rank, failure.reason, failure.message) == (1, reason, message)


@pytest.mark.parametrize("code", [0, None])
def test_successful_exit_is_not_a_failure(job: Backend, code: int | None) -> None:
    report(SystemExit(code))
    assert written(job) == {}


def test_no_failure_is_written_outside_of_a_job(
    job: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SONDE_JOB_URI")
    report(raising(ValueError("no data")))
    assert written(job) == {}


def test_exception_in_a_thread_is_recorded_and_still_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[object] = []
    observed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    watch_threads(lambda *args, **kwargs: observed.append((args, kwargs)))
    thread = threading.Thread(target=lambda: 1 / 0, name="loader")
    thread.start()
    thread.join()
    assert len(shown) == 1
    (((kind, name), kwargs),) = observed
    assert (kind, name) == ("thread_died", "loader")
    assert "ZeroDivisionError" in kwargs["detail"]
