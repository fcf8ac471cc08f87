"""Controls PyTorch's profiler (Kineto) without the `torch.profiler` front end.

`torch.profiler` loads the compiler, changes the environment and reads every event in Python.
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

from sonde.hook.torch.profiler.forks import mark_used
from sonde.hook.torch.profiler.gloo_threads import wait_for_gloo
from sonde.hook.torch.profiler.other_profilers import OtherProfilers
from sonde.settings.torch_profiler import has_cuda_profiler, silence_kineto

# the originals: the names that scripts use are wrapped by OtherProfilers
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
_ACTIVE = "another PyTorch profiler is active"
# Kineto prints an error if first used in another thread than the one that loaded PyTorch
_NOT_MAIN_THREAD = "training does not run in the main thread, which PyTorch's profiler requires"
_CUDA_PROFILER = "the process runs under a CUDA profiler"


class Recorded(Protocol):
    """The result of a recording."""

    def save(self, path: str) -> None:
        """Write a Chrome trace; holds the GIL until it is done."""


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """What to record in a trace."""

    device: bool = False  # kernels and memory copies, if CUDA is in use
    shapes: bool = False
    memory: bool = False
    stacks: bool = False


class Kineto:
    """Records the operations of the calling thread and of the device."""

    def __init__(self, other_profilers: OtherProfilers) -> None:
        self._other_profilers = other_profilers
        self._thread_id = 0  # the recorded thread; 0 if not recording
        self._has_device = False
        self._is_lost = False
        self._is_over = threading.Event()
        self.on_fork: Callable[[], None] = lambda: None  # called in a child forked while recording

    @property
    def is_on(self) -> bool:
        """Whether a recording is active."""
        return bool(self._thread_id)

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread is recorded; only that thread may stop the recording."""
        return self._thread_id == threading.get_ident()

    def start(self, options: TraceOptions) -> str | None:
        """Start recording; return the reason if that is impossible."""
        self._has_device = options.device and _is_in_use()
        if self._has_device and has_cuda_profiler():
            return _CUDA_PROFILER
        if threading.current_thread() is not threading.main_thread():
            return _NOT_MAIN_THREAD
        with self._other_profilers.lock:
            if self._other_profilers.are_active():
                return _ACTIVE
            config, activities = self._configured(options)
            mark_used()
            with silence_kineto():
                _prepare(config, activities)
            _enable(config, activities)
            _notify("_run_on_profiler_start")
            _add_distributed_facts()
            self._is_lost = False
            self._is_over.clear()
            self._thread_id = threading.get_ident()
            _active.append(self)
        return None

    def wait(self, seconds: float) -> bool:
        """Wait in another thread until the recorded thread has stopped the recording."""
        return self._is_over.wait(seconds)

    def lose(self) -> None:
        """Give up the recording: another thread has started a profiler."""
        self._is_lost = True

    def stop(self) -> Recorded | None:
        """Stop recording; return the result, or None if it was lost."""
        if self._has_device and not torch.cuda.is_current_stream_capturing():
            torch.cuda.synchronize()
        with self._other_profilers.lock:
            self._thread_id = 0
            _active.clear()
            _notify("_run_on_profiler_stop")
            recorded = self._end()
            self._is_over.set()
        return recorded

    def leave_parent(self) -> None:
        """Stop recording in a forked child."""
        if self.is_mine:
            self._thread_id = 0
            _forget()
            self.on_fork()

    def _end(self) -> Recorded | None:
        # requesting a lost recording would crash the process, as would freeing one that a thread of
        # a collective still writes to
        if self._is_lost or not wait_for_gloo():
            _forget()
            return None
        if not _is_enabled():
            return None
        recorded: Recorded = _disable()
        return recorded

    def _configured(self, options: TraceOptions) -> tuple[Any, Any]:
        make: Any = profiler.profile
        profile = make(
            use_device="cuda" if self._has_device else None,
            record_shapes=options.shapes,
            profile_memory=options.memory,
            with_stack=options.stacks,
            use_kineto=True,
            experimental_config=_trace_only() if not options.stacks else None,
        )
        return profile.config(), profile.kineto_activities


def _trace_only() -> Any:
    """A configuration without Python events, which halves the stop time; not in older versions."""
    make: Any = _ExperimentalConfig
    try:
        return make(trace_only=True)
    except TypeError:
        return make()


def _add_distributed_facts() -> None:
    """Add the rank to the trace, for tools that merge traces of several workers."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        facts = {"backend": torch.distributed.get_backend(), "rank": rank, "world_size": size}
        _add_fact("distributedInfo", json.dumps(facts))


def _notify(listeners: str) -> None:
    """Run profiler callbacks, which enable the compiler's annotations."""
    notify = getattr(profiler, listeners, None)
    if notify is not None:
        notify()


_active: list[Kineto] = []  # up to one


def _forked() -> None:
    for kineto in _active:
        kineto.leave_parent()
    _active.clear()


os.register_at_fork(after_in_child=_forked)
