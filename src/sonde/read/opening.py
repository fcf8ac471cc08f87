"""Opens a job that may come from a stranger: whatever is wrong with it stays its own."""

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from sonde.errors import DamagedError
from sonde.store.backends import Backend

Answer = TypeVar("Answer")

BROKEN = "broken"  # how a job that cannot be opened is listed

# What code raises of values that it was never meant to meet; what the machine lacks is not here.
_WRONG_CONTENT = (
    pa.ArrowException,
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


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
