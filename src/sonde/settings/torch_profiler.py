"""What the environment says about profilers inside and around PyTorch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_LOG_LEVEL = "KINETO_LOG_LEVEL"
_NOTHING = "99"
_TEARDOWN = "TEARDOWN_CUPTI"
_INJECTION = "CUDA_INJECTION64_PATH"  # how Nsight gets into a process


@contextmanager
def hushed_kineto() -> Iterator[None]:
    """Kineto, if it is used for the first time in here, prints nothing into the job's output.

    It reads the variable once. Whoever has set it is left alone.
    """
    with _set(_LOG_LEVEL, os.environ.get(_LOG_LEVEL, _NOTHING)):
        yield


@contextmanager
def kept_cupti() -> Iterator[None]:
    """Kineto, if it stops in here, leaves CUPTI loaded: it is needed again at once.

    Where it is to take it away, a second use soon after the first may find it half gone.
    """
    with _set(_TEARDOWN, "0"):
        yield


@contextmanager
def _set(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def has_cuda_profiler() -> bool:
    """Whether the process was started under a profiler of CUDA, which suffers no second one."""
    return _INJECTION in os.environ
