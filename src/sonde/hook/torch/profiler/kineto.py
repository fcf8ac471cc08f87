"""The profiler inside PyTorch, switched on and off without what its Python face brings along.

`torch.profiler` loads the compiler, changes the environment, and reads every event in Python.
"""

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch._C import _autograd
from torch._C._profiler import _ExperimentalConfig
from torch.autograd import profiler

from sonde.hook.torch.profiler.forks import was_used
from sonde.hook.torch.profiler.other_profilers import OtherProfilers
from sonde.settings.torch_profiler import has_cuda_profiler, hushed_kineto

# not as the script finds them: we are told there when it uses them
_prepare, _enable, _disable, _is_enabled, _forget, _add_fact = (
    vars(_autograd)[name]
    for name in (
        "_prepare_profiler",
        "_enable_profiler",
        "_disable_profiler",
        "_profiler_enabled",
        "_clear_callbacks",
        "_add_metadata_json",
    )
)
_is_in_use: Callable[[], bool] = torch.cuda.is_initialized
_ACTIVE = "another profiler of PyTorch is at work"
# it prints an error where it is first used in another thread than the one that loaded PyTorch
_ELSEWHERE = "another thread than the main one trains, in which PyTorch's profiler complains"
_ATTACHED = "the process runs under a profiler of CUDA"


class Recorded(Protocol):
    """What was recorded; only what PyTorch itself makes of it is of use."""

    def save(self, path: str) -> None:
        """Writes it as a Chrome trace; nobody else runs Python meanwhile."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to record."""

    device: bool = False  # kernels and copies, if a device is in use
    shapes: bool = False
    memory: bool = False
    stacks: bool = False


class Kineto:
    """Records what the calling thread does, and the device with it."""

    def __init__(self, others: OtherProfilers) -> None:
        self._others = others
        self._thread_id = 0  # that records; 0: nobody does
        self._has_device = False
        self._is_lost = False
        self._is_over = threading.Event()
        self.on_fork: Callable[[], None] = lambda: None  # in a child, while it records

    @property
    def is_on(self) -> bool:
        """Whether it records."""
        return bool(self._thread_id)

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread is the one that is recorded, and so may end it."""
        return self._thread_id == threading.get_ident()

    def start(self, wanted: Wanted) -> str | None:
        """Begins to record; or the reason why it cannot."""
        self._has_device = wanted.device and _is_in_use()
        if self._has_device and has_cuda_profiler():
            return _ATTACHED
        if threading.current_thread() is not threading.main_thread():
            return _ELSEWHERE
        with self._others.turn:
            if self._others.are_active():
                return _ACTIVE
            config, activities = self._configured(wanted)
            was_used()
            with hushed_kineto():
                _prepare(config, activities)
            _enable(config, activities)
            _tell("_run_on_profiler_start")
            _introduce()
            self._is_lost = False
            self._is_over.clear()
            self._thread_id = threading.get_ident()
            _AT_WORK.append(self)
        return None

    def wait(self, seconds: float) -> bool:
        """Waits, in another thread, until the one that is recorded has ended it."""
        return self._is_over.wait(seconds)

    def lose(self) -> None:
        """Somebody records in another thread: ours can neither be used nor ended any more."""
        self._is_lost = True

    def stop(self) -> Recorded | None:
        """Ends; what was recorded, if nobody has spoiled it."""
        if self._has_device and not torch.cuda.is_current_stream_capturing():
            torch.cuda.synchronize()
        with self._others.turn:
            self._thread_id = 0
            _AT_WORK.clear()
            _tell("_run_on_profiler_stop")
            recorded = self._end()
            self._is_over.set()
        return recorded

    def leave_parent(self) -> None:
        """In a forked child: it would go on recording, for nobody, as long as it lives."""
        if self.is_mine:
            self._thread_id = 0
            _forget()
            self.on_fork()

    def _end(self) -> Recorded | None:
        # to be asked for what it does not have any more takes the process down
        if self._is_lost:
            _forget()
            return None
        if not _is_enabled():
            return None
        recorded: Recorded = _disable()
        return recorded

    def _configured(self, wanted: Wanted) -> tuple[Any, Any]:
        make: Any = profiler.profile
        profile = make(
            use_device="cuda" if self._has_device else None,
            record_shapes=wanted.shapes,
            profile_memory=wanted.memory,
            with_stack=wanted.stacks,
            use_kineto=True,
            experimental_config=_trace_only() if not wanted.stacks else None,
        )
        return profile.config(), profile.kineto_activities


def _trace_only() -> Any:
    """No events for Python, which halves what the end takes; older versions do not know that."""
    make: Any = _ExperimentalConfig
    try:
        return make(trace_only=True)
    except TypeError:
        return make()


def _introduce() -> None:
    """Tools for traces of many workers look for whose each one is."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        facts = {"backend": torch.distributed.get_backend(), "rank": rank, "world_size": size}
        _add_fact("distributedInfo", json.dumps(facts))


def _tell(listeners: str) -> None:
    """The compiler's own annotations are made only while it is told that somebody records."""
    tell = getattr(profiler, listeners, None)
    if tell is not None:
        tell()


_AT_WORK: list[Kineto] = []  # at most one


def _forked() -> None:
    for one in _AT_WORK:
        one.leave_parent()
    _AT_WORK.clear()


os.register_at_fork(after_in_child=_forked)
