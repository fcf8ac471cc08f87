"""CUDA graphs: while one is recorded, nothing of ours gets into it or asks the device."""

from collections.abc import Callable
from typing import Any

import torch

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.notice import NoticeKind


class Captures:
    """Keeps the session out of the recording of graphs."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def attach(self, patches: Patches) -> None:
        """Sees where a recording begins and ends."""
        patches.wrap(torch.cuda.CUDAGraph, "capture_begin", self._begins)
        patches.wrap(torch.cuda.CUDAGraph, "capture_end", self._ends)

    def _begins(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_begin(*args: Any, **kwargs: Any) -> Any:
            self._session.hold()
            is_begun = False
            try:
                result = original(*args, **kwargs)
                is_begun = True
                return result
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                if not is_begun:
                    self._session.release()

        return capture_begin

    def _ends(self, original: Callable[..., Any]) -> Callable[..., Any]:
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
                    "what is replayed from a CUDA graph",
                    "no hook sees it; where whole steps are replayed, call sonde.step() after each",
                )

        return capture_end
