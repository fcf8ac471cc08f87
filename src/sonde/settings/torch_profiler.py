"""Environment variables of profilers inside and around PyTorch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_LOG_LEVEL = "KINETO_LOG_LEVEL"
_LOG_NOTHING = "99"
_INJECTION = "CUDA_INJECTION64_PATH"  # used by Nsight to enter a process


@contextmanager
def silence_kineto() -> Iterator[None]:
    """Silence Kineto's log if it is first used in this block.

    Kineto reads the variable once. A value set by the user is not changed.
    """
    is_set = _LOG_LEVEL in os.environ
    os.environ.setdefault(_LOG_LEVEL, _LOG_NOTHING)
    try:
        yield
    finally:
        if not is_set:
            os.environ.pop(_LOG_LEVEL, None)


def has_cuda_profiler() -> bool:
    """Whether a CUDA profiler runs this process; a second one would fail."""
    return _INJECTION in os.environ
