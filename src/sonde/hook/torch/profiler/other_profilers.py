"""Detects profilers started by the script: PyTorch allows one profiler per process.

If two are active at the same time, the one that stops last crashes the process.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

from torch._C._autograd import _profiler_enabled

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.patches import Patches

_STARTS = ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy")
_STOPS = ("_disable_profiler", "_disable_profiler_legacy")
_MODULES = ("torch.autograd.profiler", "torch.autograd.profiler_legacy")


def no_window() -> None:
    """Do nothing: no window of Sonde is open."""


class OtherProfilers:
    """Tracks the script's profiler and yields to it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held while a profiler starts or stops
        # ends Sonde's window before the script's profiler starts
        self.yield_profiler: Callable[[], None] = no_window
        self.are_used = False
        self._is_script_profiling = False  # including its warm-up

    def attach(self, patches: Patches) -> None:
        """Wrap the functions that start and stop the profiler."""
        for module in filter(None, map(sys.modules.get, _MODULES)):
            for name in _STARTS:
                patches.wrap(module, name, self._wrap_start)
            for name in _STOPS:
                patches.wrap(module, name, self._wrap_stop)

    def are_active(self) -> bool:
        """Whether the script's profiler is active or warming up."""
        return self._is_script_profiling or _profiler_enabled()

    def _wrap_start(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*args: Any, **kwargs: Any) -> Any:
            for is_last in (False, False, True):  # a new window may open in between
                self.yield_profiler()
                with self.lock:
                    if self.yield_profiler is no_window or is_last:
                        try:
                            result = original(*args, **kwargs)
                        except BaseException as error:
                            drop_frame(error)
                            raise
                        self._is_script_profiling = self.are_used = True
                        return result
            raise AssertionError

        return start

    def _wrap_stop(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def stop(*args: Any, **kwargs: Any) -> Any:
            with self.lock:
                self._is_script_profiling = False
                try:
                    return original(*args, **kwargs)
                except BaseException as error:
                    drop_frame(error)
                    raise

        return stop
