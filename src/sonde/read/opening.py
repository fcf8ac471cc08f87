"""Opens a job that may come from a stranger: whatever is wrong with it stays its own."""

import threading
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from sonde.errors import DamagedError, StoreError
from sonde.guard import result_or_reason
from sonde.store.backends import Backend

Answer = TypeVar("Answer")

BROKEN = "broken"  # how a job that cannot be opened is listed
MOST_SECONDS = 20.0  # what reading one job may take of a list; a dead store is noticed after nine

# What code raises of values that it was never meant to meet; what the machine lacks is not here.
_WRONG_CONTENT = (
    pa.ArrowException,
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


def read_in_time(backend: Backend, read: Callable[[], Answer], seconds: float) -> Answer:
    """What a function reads of a job, if that does not take too long: other jobs wait for it.

    Raises:
        DamagedError: It takes longer.
        StoreError: It fails, for that reason.
    """
    results: list[tuple[Answer | None, str]] = []
    thread = threading.Thread(
        target=lambda: results.append(result_or_reason(read, ())), name="sonde-read", daemon=True
    )
    thread.start()
    thread.join(seconds)
    if not results:
        name = backend.uri.rstrip("/").rpartition("/")[2]
        raise DamagedError(f"Job {name!r} cannot be read: it takes longer than {seconds:g} s")
    answer, reason = results[0]
    if answer is None:
        raise StoreError(reason)
    return answer


def read_guarded(backend: Backend, read: Callable[[], Answer]) -> Answer:
    """What a function reads of a job.

    Raises:
        DamagedError: The content of the job makes it fail.
    """
    try:
        return read()
    except _WRONG_CONTENT as error:
        name = backend.uri.rstrip("/").rpartition("/")[2]
        text = f"Job {name!r} cannot be read: {type(error).__name__}: {error}"[:400]
        raise DamagedError(text) from error
