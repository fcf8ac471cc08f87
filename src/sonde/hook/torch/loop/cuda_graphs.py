"""CUDA graphs: pause the session during capture so that no Sonde operation is captured."""

from collections.abc import Callable
from typing import Any

import torch

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.notice import NoticeKind


class GraphCaptures:
    """Pauses the session while a CUDA graph is captured."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def attach(self, patches: Patches) -> None:
        """Wrap the start and end of captures."""
        patches.wrap(torch.cuda.CUDAGraph, "capture_begin", self._wrap_begin)
        patches.wrap(torch.cuda.CUDAGraph, "capture_end", self._wrap_end)

    def _wrap_begin(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_begin(*args: Any, **kwargs: Any) -> Any:
            self._session.hold()
            has_begun = False
            try:
                result = original(*args, **kwargs)
                has_begun = True
                return result
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                if not has_begun:
                    self._session.release()

        return capture_begin

    def _wrap_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_end(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                self._session.release()
                self._session.store.notice(
                    NoticeKind.NOT_COLLECTED,
                    "steps replayed from a CUDA graph",
                    "hooks do not run during replay. If the graph contains whole steps, call "
                    "sonde.step() after each one",
                )

        return capture_end
