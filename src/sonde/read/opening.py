"""Open untrusted jobs: broken content raises DamagedError and does not affect other jobs."""

import threading
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from sonde.errors import DamagedError, StoreError
from sonde.formats import format_duration
from sonde.guard import result_or_reason
from sonde.store.backends import Backend

Result = TypeVar("Result")

BROKEN = "broken"  # the listed state of a job that cannot be opened
MAX_READ_SECONDS = (
    20.0  # limit for reading one job of a list; an unreachable store is detected after 9 s
)

# Exceptions caused by invalid content, not by the machine.
_WRONG_CONTENT = (
    pa.ArrowException,
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


def read_in_time(backend: Backend, read: Callable[[], Result], seconds: float) -> Result:
    """Read a job in a thread, with a time limit, because other jobs wait for it.

    Raises:
        DamagedError: Reading takes too long.
        StoreError: Reading fails.
    """
    results: list[tuple[Result | None, str]] = []
    thread = threading.Thread(
        target=lambda: results.append(result_or_reason(read, ())), name="sonde-read", daemon=True
    )
    thread.start()
    thread.join(seconds)
    if not results:
        name = backend.uri.rstrip("/").rpartition("/")[2]
        limit = format_duration(seconds)
        raise DamagedError(f"Cannot read job {name!r}: reading takes longer than {limit}")
    answer, reason = results[0]
    if answer is None:
        raise StoreError(reason)
    return answer


def read_guarded(backend: Backend, read: Callable[[], Result]) -> Result:
    """Read a job and convert errors in its content.

    Raises:
        DamagedError: The content of the job is invalid.
    """
    try:
        return read()
    except _WRONG_CONTENT as error:
        name = backend.uri.rstrip("/").rpartition("/")[2]
        text = f"Cannot read job {name!r}: {type(error).__name__}: {error}"[:400]
        raise DamagedError(text) from error
