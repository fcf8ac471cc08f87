"""Record why a process of the job died, as the process itself sees it; the launcher reads it."""

import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sonde.bounded_calls import within
from sonde.clock import SystemClock
from sonde.errors import StoppedJobError
from sonde.guard import Guard, error_text
from sonde.hook.hidden_frames import remove_own_frames
from sonde.masking import mask_text
from sonde.records.job import ExitReason
from sonde.records.worker import Failure
from sonde.settings import WorkerPlace, worker_place
from sonde.store.backends import open_backend
from sonde.store.facts import encode_facts
from sonde.store.failure_files import (
    child_failure_key,
    process_failure_key,
    worker_failure_key,
)

NO_RANK = -1

_WRITE_SECONDS = 5.0
_LONGEST_MESSAGE = 4_000
_LONGEST_TRACEBACK = 100_000

# by name: torch must not be imported to be asked, and has them in more than one place
_OF_A_CHILD = {
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
    """Writes down that this exception ends this process."""
    place = worker_place()
    if place.job_uri is None or (isinstance(error, SystemExit) and not error.code):
        return
    uri, now_ns = place.job_uri, SystemClock(place.clock_anchor_ns).now_ns()
    if _names(error) & _OF_A_CHILD:
        failure = _of_a_child(error, now_ns)
        key = child_failure_key(place.node, place.attempt, os.getpid())
    else:
        rank, restart = _worker(place)
        failure = describe(error, now_ns, rank)
        key = worker_failure_key(rank, place.attempt, restart)
        if rank == NO_RANK:
            node, attempt = place.node, place.attempt
            key = process_failure_key(node, attempt, os.getppid(), os.getpid())
    _in_time(lambda: open_backend(uri).write(key, encode_facts(failure, key)))


def describe(error: BaseException, now_ns: int, rank: int) -> Failure:
    """The failure that an uncaught exception is."""
    if isinstance(error, SystemExit) and error.__context__ is not None:
        error = error.__context__  # torch's own children exit like this with what they have caught
    reason, detail = _judge(error)
    return Failure(
        rank=rank,
        time_ns=now_ns,
        reason=reason,
        message=_message(error),
        traceback=_shortened("".join(traceback.format_exception(error))),
        detail=mask_text(detail),
    )


def watch_threads(observe: Callable[..., None]) -> None:
    """A thread that dies does not end the job; it is observed, and shown as it would have been."""
    show = threading.excepthook

    def excepthook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            remove_own_frames(args.exc_value)
            args = threading.ExceptHookArgs(
                (args.exc_type, args.exc_value, args.exc_value.__traceback__, args.thread)
            )
        try:
            show(args)
        finally:
            if args.exc_value is not None:
                failure = describe(args.exc_value, 0, NO_RANK)
                name = args.thread.name if args.thread else ""
                observe("thread_died", name, detail=failure.traceback)

    threading.excepthook = excepthook


def _worker(place: WorkerPlace) -> tuple[int, int]:
    """The rank and the life of the worker that this process is, if it is one."""
    session = sys.modules.get("sonde.hook.session")
    info = session.Session.of_process().store.info if session else None
    if info is not None and info.pid == os.getpid():
        return info.rank, info.restart
    if place.rank is not None and not _is_below_that_rank(place):
        return place.rank, place.restart
    return NO_RANK, 0


def _is_below_that_rank(place: WorkerPlace) -> bool:
    """Whether a Python of that rank, and of this run, has started this process."""
    parent = Path(f"/proc/{os.getppid()}")
    ours = {f"RANK={place.rank}".encode(), f"SONDE_RUN_ID={place.run_id}".encode()}
    try:
        is_python = (parent / "exe").readlink().name.startswith("python")
        return is_python and ours <= set((parent / "environ").read_bytes().split(b"\0"))
    except OSError:
        return False


def _judge(error: BaseException) -> tuple[ExitReason, str]:
    for one in _causes(error):
        names, text = _names(one), error_text(one)
        if "OutOfMemoryError" in names or _OUT_OF_MEMORY.search(text):
            return ExitReason.DEVICE_OUT_OF_MEMORY, _allocator_summary()
        if names & _COLLECTIVE_ERRORS or _COLLECTIVE_MESSAGE.search(text):
            return ExitReason.EXCEPTION, f"in a collective: {_collective(one)}"
    if isinstance(error, StoppedJobError):
        return ExitReason.STOPPED, ""
    if isinstance(error, SystemExit):
        return ExitReason.EXIT, ""
    is_signal = isinstance(error, KeyboardInterrupt) or "SignalException" in _names(error)
    return (ExitReason.SIGNAL if is_signal else ExitReason.EXCEPTION), ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and those it was raised from."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _collective(error: BaseException) -> str:
    """Which one: as the library says, else the function of torch.distributed that was called."""
    said = _COLLECTIVE_NAME.search(error_text(error))
    if said is not None:
        return said[1].lower()
    frames = traceback.extract_tb(error.__traceback__)
    called = [frame.name for frame in frames if frame.filename.endswith(_COLLECTIVES)]
    return next((name for name in called if name not in _WRAPPERS), "not known which")


def _allocator_summary() -> str:
    """What the allocator of the device holds, where there is one."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)

    def ask() -> str:
        return str(cuda.memory_summary()) if cuda is not None and cuda.is_initialized() else ""

    return Guard().attempt("the allocator", ask, "")


def _of_a_child(error: Any, now_ns: int) -> Failure:
    """The failure of a child that died on this process; torch says which, and how."""
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
    said = next((line for line in lines if not line.startswith(" ")), lines[-1])
    return mask_text(said.strip())[:_LONGEST_MESSAGE]


def _shortened(text: str) -> str:
    """A text whose middle is left out where it is endless, as in a deep recursion."""
    half = _LONGEST_TRACEBACK // 2
    if len(text) > _LONGEST_TRACEBACK:
        text = f"{text[:half]}\n[…]\n{text[-half:]}"
    return mask_text(text)


def _in_time(write: Callable[[], None]) -> None:
    try:
        within(_WRITE_SECONDS, "failure", write, None)
    except RuntimeError:  # so late that Python starts no more threads
        Guard().attempt("the failure", write, None)
