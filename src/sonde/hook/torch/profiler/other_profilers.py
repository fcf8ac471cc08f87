"""Who else uses the profiler inside PyTorch: there is only one in a process.

Where two use it at once, the one that ends last takes the process down.
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


def nobody() -> None:
    """None of ours is at work."""


class OtherProfilers:
    """Knows whether the script profiles itself, and lets it do so whenever it wants to."""

    def __init__(self) -> None:
        self.turn = threading.RLock()  # held while anybody switches it on or off
        self.give_way: Callable[[], None] = nobody  # who has to end before theirs begins
        self.were_used = False
        self._is_theirs = False  # from its warm-up on

    def attach(self, patches: Patches) -> None:
        """Sees the script switch it on and off."""
        for module in filter(None, map(sys.modules.get, _MODULES)):
            for name in _STARTS:
                patches.wrap(module, name, self._starting)
            for name in _STOPS:
                patches.wrap(module, name, self._stopping)

    def are_active(self) -> bool:
        """Whether it is in use by somebody else than us, or about to be."""
        return self._is_theirs or _profiler_enabled()

    def _starting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*args: Any, **kwargs: Any) -> Any:
            for is_last in (False, False, True):  # ours may begin between its end and theirs
                self.give_way()
                with self.turn:
                    if self.give_way is nobody or is_last:
                        try:
                            result = original(*args, **kwargs)
                        except BaseException as error:
                            drop_frame(error)
                            raise
                        self._is_theirs = self.were_used = True
                        return result
            raise AssertionError

        return start

    def _stopping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def stop(*args: Any, **kwargs: Any) -> Any:
            with self.turn:
                self._is_theirs = False
                try:
                    return original(*args, **kwargs)
                except BaseException as error:
                    drop_frame(error)
                    raise

        return stop
