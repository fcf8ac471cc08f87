"""What the environment says about profilers inside and around PyTorch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_LOG_LEVEL = "KINETO_LOG_LEVEL"
_NOTHING = "99"
_INJECTION = "CUDA_INJECTION64_PATH"  # how Nsight gets into a process


@contextmanager
def hushed_kineto() -> Iterator[None]:
    """Kineto, if it is used for the first time in here, prints nothing into the job's output.

    It reads the variable once. Whoever has set it is left alone.
    """
    is_set = _LOG_LEVEL in os.environ
    os.environ.setdefault(_LOG_LEVEL, _NOTHING)
    try:
        yield
    finally:
        if not is_set:
            os.environ.pop(_LOG_LEVEL, None)


def has_cuda_profiler() -> bool:
    """Whether the process was started under a profiler of CUDA, which suffers no second one."""
    return _INJECTION in os.environ
