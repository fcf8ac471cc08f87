"""Why a process died, from the exception that ended it."""

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
    """As torch names it."""


class OutOfMemoryError(RuntimeError):
    """As torch names it."""


class ChildFailedError(Exception):
    """As torchrun raises it."""

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
    """A job around this process, which has no rank."""
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
    found = describe(raising(ValueError("no data")), 5, 1)
    assert (found.rank, found.time_ns, found.reason) == (1, 5, ExitReason.EXCEPTION)
    assert found.message == "ValueError: no data"
    assert "in fail" in found.traceback


def test_the_message_of_a_broken_file_is_not_its_place() -> None:
    found = describe(caught(lambda: compile("x = (", "train.py", "exec")), 5, 0)
    assert found.message.startswith("SyntaxError: ")


def test_notes_and_causes_are_in_the_traceback() -> None:
    error = ValueError("outer")
    error.add_note("while loading")
    error.__cause__ = KeyError("inner")
    found = describe(raising(error), 5, 0)
    assert found.message == "ValueError: outer"
    assert "while loading" in found.traceback
    assert "KeyError: 'inner'" in found.traceback


@pytest.mark.parametrize(
    "error",
    [
        OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("HIP out of memory"),
    ],
)
def test_the_device_out_of_memory_has_its_own_reason(error: BaseException) -> None:
    wrapped = RuntimeError("step failed")
    wrapped.__cause__ = error
    for one in (error, wrapped):
        assert describe(raising(one), 5, 0).reason is ExitReason.DEVICE_OUT_OF_MEMORY


def test_the_allocator_says_what_it_holds_and_may_fail_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = SimpleNamespace(is_initialized=lambda: True, memory_summary=lambda: "79 GiB")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert describe(OutOfMemoryError(), 5, 0).detail == "79 GiB"
    cuda.memory_summary = lambda: 1 / 0
    assert describe(OutOfMemoryError(), 5, 0).detail == ""


@pytest.mark.parametrize(
    ("error", "which"),
    [
        (DistBackendError("NCCL error"), "unknown"),
        (RuntimeError("WorkNCCL(SeqNum=5, OpType=ALLREDUCE, …) ran for 600000 ms"), "allreduce"),
        (RuntimeError("[gloo/transport/tcp/pair.cc:1] Timed out"), "unknown"),
    ],
)
def test_a_failed_collective_is_said_to_be_one(error: BaseException, which: str) -> None:
    found = describe(raising(error), 5, 0)
    assert found.reason is ExitReason.EXCEPTION
    assert found.detail == f"in a collective: {which}"


def test_an_interrupt_is_a_signal() -> None:
    assert describe(KeyboardInterrupt(), 5, 0).reason is ExitReason.SIGNAL


def test_an_exit_that_follows_an_exception_is_that_exception() -> None:
    def child() -> None:
        try:
            int("the cause")
        except ValueError:
            sys.exit(1)

    found = describe(caught(child), 5, 0)
    assert found.reason is ExitReason.EXCEPTION
    assert found.message.startswith("ValueError: invalid literal")


def test_an_endless_traceback_keeps_its_beginning_and_its_end() -> None:
    found = describe(raising(ValueError("x" * 300_000)), 5, 0)
    assert found.traceback.startswith("Traceback")
    assert len(found.traceback) < 110_000
    assert len(found.message) <= 4_000


def test_a_process_without_a_rank_reports_to_its_node(job: Backend) -> None:
    report(raising(ValueError("no data")))
    ((key, found),) = written(job).items()
    assert key == "nodes/node-a/attempt-002/failure-41-42.json"
    assert (found.rank, found.message) == (NO_RANK, "ValueError: no data")


def test_a_worker_reports_beside_what_it_recorded(
    job: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "3")
    report(raising(ValueError("no data")))
    ((key, found),) = written(job).items()
    assert key == "workers/5/attempt-002.3/failure.json"
    assert found.rank == 5


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (ChildFailedError(1, 3), ExitReason.EXIT, "exit code 3"),
        (ChildFailedError(1, -9, "SIGKILL"), ExitReason.SIGNAL, "killed by SIGKILL"),
    ],
)
def test_what_a_launcher_of_workers_knows_is_handed_on(
    job: Backend, error: BaseException, reason: ExitReason, message: str
) -> None:
    report(raising(error))
    ((key, found),) = written(job).items()
    assert key == "nodes/node-a/attempt-002/handed-on-42.json"
    assert (found.rank, found.reason, found.message) == (1, reason, message)


@pytest.mark.parametrize("code", [0, None])
def test_a_good_end_is_no_failure(job: Backend, code: int | None) -> None:
    report(SystemExit(code))
    assert written(job) == {}


def test_outside_of_a_job_nothing_is_written(job: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SONDE_JOB_URI")
    report(raising(ValueError("no data")))
    assert written(job) == {}


def test_a_thread_that_dies_is_observed_and_shown_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[object] = []
    observed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    watch_threads(lambda *facts, **more: observed.append((facts, more)))
    thread = threading.Thread(target=lambda: 1 / 0, name="loader")
    thread.start()
    thread.join()
    assert len(shown) == 1
    (((kind, name), more),) = observed
    assert (kind, name) == ("thread_died", "loader")
    assert "ZeroDivisionError" in more["detail"]
