"""Record why a process of the job failed, for the launcher to read."""

import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.bounded_calls import call_within
from sonde.clock import SystemClock
from sonde.errors import StoppedJobError
from sonde.guard import Guard, error_text, result_or_reason
from sonde.hook.hidden_frames import field_of, remove_sonde_frames
from sonde.masking import mask_text
from sonde.records.job import ExitReason
from sonde.records.worker import Failure
from sonde.settings import WorkerPlacement, worker_placement
from sonde.store.backends import open_backend
from sonde.store.facts import encode_facts
from sonde.store.failure_files import (
    child_failure_key,
    process_failure_key,
    worker_failure_key,
)

NO_RANK = -1

_WRITE_SECONDS = 5.0
_MAX_MESSAGE = 4_000  # characters
_MAX_TRACEBACK = 100_000

# by name, since torch must not be imported and defines some of them in several modules
_CHILD_ERRORS = {
    *("CalledProcessError", "BrokenProcessPool", "ChildFailedError"),
    *("ProcessRaisedException", "ProcessExitedException"),
}
_OUT_OF_MEMORY = re.compile(r"\b(CUDA|HIP|XPU|MPS)\b.{0,40}\bout of memory", re.IGNORECASE)
_COLLECTIVE_ERRORS = {"DistError", "DistBackendError", "DistNetworkError", "DistStoreError"}
_COLLECTIVE_MESSAGE = re.compile(r"nccl|\bgloo\b|ProcessGroup", re.IGNORECASE)
_COLLECTIVE_NAME = re.compile(r"OpType=(\w+)")
_COLLECTIVES = "distributed_c10d.py"
_WRAPPERS = {"wrapper", "__init__"}


def report(error: BaseException) -> None:
    """Record that this exception ends this process."""
    worker = worker_placement()
    if worker.job_uri is None or _is_successful_exit(error):
        return
    uri, now_ns = worker.job_uri, SystemClock(worker.clock_anchor_ns).now_ns()
    if _names(error) & _CHILD_ERRORS:
        failure = _describe_child(error, now_ns)
        key = child_failure_key(worker.node, worker.attempt, os.getpid())
    else:
        rank, restart = _rank_and_restart(worker)
        failure = describe(error, now_ns, rank)
        key = worker_failure_key(rank, worker.attempt, restart)
        if rank == NO_RANK:
            node, attempt = worker.node, worker.attempt
            key = process_failure_key(node, attempt, os.getppid(), os.getpid())
    _write_in_time(lambda: open_backend(uri).write(key, encode_facts(failure, key)))


def _is_successful_exit(error: BaseException) -> bool:
    if not issubclass(type(error), SystemExit):
        return False
    code, problem = result_or_reason(lambda: getattr(error, "code", None), ())
    return not problem and (code is None or (type(code) in (int, bool) and code == 0))


def describe(error: BaseException, now_ns: int, rank: int) -> Failure:
    """Describe an uncaught exception, even if methods of its class fail."""
    context = field_of(error, "__context__")
    if issubclass(type(error), SystemExit) and context is not None:
        error = context  # child processes of torch exit like this after an exception
    cause = result_or_reason(lambda: _Cause.of(error), ())[0] or _Cause(ExitReason.EXCEPTION)
    frames = traceback.format_tb(field_of(error, "__traceback__"))
    lines = result_or_reason(lambda: traceback.format_exception(error), ())[0]
    return Failure(
        rank=rank,
        time_ns=now_ns,
        reason=cause.reason,
        message=result_or_reason(lambda: _message(error), ())[0] or mask_text(error_text(error)),
        traceback=_shorten("".join(lines or [*frames, error_text(error)])),
        detail=mask_text(cause.detail),
        collective=mask_text(cause.collective),
    )


def watch_threads(observe: Callable[..., None]) -> None:
    """Record exceptions that end a thread but not the job; they are printed as usual."""
    show = threading.excepthook

    def excepthook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            remove_sonde_frames(args.exc_value)
            args = threading.ExceptHookArgs(
                (
                    args.exc_type,
                    args.exc_value,
                    field_of(args.exc_value, "__traceback__"),
                    args.thread,
                )
            )
        try:
            show(args)
        finally:
            if args.exc_value is not None:
                failure = describe(args.exc_value, 0, NO_RANK)
                name = args.thread.name if args.thread else ""
                observe("thread_died", name, detail=failure.traceback)

    threading.excepthook = excepthook


def _rank_and_restart(worker: WorkerPlacement) -> tuple[int, int]:
    """The rank and restart number of this process, if it is a worker."""
    session = sys.modules.get("sonde.hook.session")
    info = session.Session.of_process().store.info if session else None
    if info is not None and info.pid == os.getpid():
        return info.rank, info.restart
    if worker.rank is not None and not _is_child_of_rank(worker):
        return worker.rank, worker.restart
    return NO_RANK, 0


def _is_child_of_rank(worker: WorkerPlacement) -> bool:
    """Whether the parent is a Python process of the same rank and run."""
    parent = Path(f"/proc/{os.getppid()}")
    expected = {f"RANK={worker.rank}".encode(), f"SONDE_RUN_ID={worker.run_id}".encode()}
    try:
        is_python = (parent / "exe").readlink().name.startswith("python")
        return is_python and expected <= set((parent / "environ").read_bytes().split(b"\0"))
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class _Cause:
    """Why an exception was raised."""

    reason: ExitReason
    detail: str = ""
    collective: str = ""  # that failed

    @classmethod
    def of(cls, error: BaseException) -> "_Cause":
        """Classify an exception by its causes."""
        for cause in _causes(error):
            names, text = _names(cause), error_text(cause)
            if "OutOfMemoryError" in names or _OUT_OF_MEMORY.search(text):
                return cls(ExitReason.DEVICE_OUT_OF_MEMORY, _allocator_summary())
            if names & _COLLECTIVE_ERRORS or _COLLECTIVE_MESSAGE.search(text):
                name = _collective(cause)
                return cls(ExitReason.EXCEPTION, f"in a collective: {name}", name)
        if isinstance(error, StoppedJobError):
            return cls(ExitReason.STOPPED)
        if isinstance(error, SystemExit):
            return cls(ExitReason.EXIT)
        is_signal = isinstance(error, KeyboardInterrupt) or "SignalException" in _names(error)
        return cls(ExitReason.SIGNAL if is_signal else ExitReason.EXCEPTION)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and its causes."""
    visited: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        yield current
        current = field_of(current, "__cause__")


def _names(error: BaseException) -> set[str]:
    kinds = type.__dict__["__mro__"].__get__(type(error))  # metaclasses may override both
    return {str(type.__dict__["__name__"].__get__(kind)) for kind in kinds}


def _collective(error: BaseException) -> str:
    """The collective that failed: named in the error, or else the torch.distributed function."""
    match = _COLLECTIVE_NAME.search(error_text(error))
    if match is not None:
        return match[1].lower()
    frames = traceback.extract_tb(field_of(error, "__traceback__"))
    called = [frame.name for frame in frames if frame.filename.endswith(_COLLECTIVES)]
    return next((name for name in called if name not in _WRAPPERS), "unknown")


def _allocator_summary() -> str:
    """Memory summary of the device allocator, if there is one."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)

    def summarize() -> str:
        return str(cuda.memory_summary()) if cuda is not None and cuda.is_initialized() else ""

    return Guard().attempt("the allocator", summarize, "")


def _describe_child(error: Any, now_ns: int) -> Failure:
    """Describe the failure of a child process; torch reports its rank and exit code."""
    failure = describe(error, now_ns, NO_RANK)
    if not hasattr(error, "get_first_failure"):
        return failure
    rank, first = error.get_first_failure()
    if first.exitcode < 0:
        reason, message = ExitReason.SIGNAL, f"killed by {first.signal_name()}"
    else:
        reason, message = ExitReason.EXIT, f"exit code {first.exitcode}"
    return Failure(rank, failure.time_ns, reason, message, failure.traceback)


def _message(error: BaseException) -> str:
    if isinstance(error, StoppedJobError):
        return mask_text(error.reason)
    lines = traceback.format_exception_only(error)
    message = next((line for line in lines if not line.startswith(" ")), lines[-1])
    return mask_text(message.strip())[:_MAX_MESSAGE]


def _shorten(text: str) -> str:
    """Cut the middle out of a very long traceback, such as one of a deep recursion."""
    half = _MAX_TRACEBACK // 2
    if len(text) > _MAX_TRACEBACK:
        text = f"{text[:half]}\n[…]\n{text[-half:]}"
    return mask_text(text)


def _write_in_time(write: Callable[[], None]) -> None:
    try:
        call_within(_WRITE_SECONDS, "failure", write, None)
    except RuntimeError:  # during interpreter shutdown, no thread can be started
        Guard().attempt("the failure", write, None)
