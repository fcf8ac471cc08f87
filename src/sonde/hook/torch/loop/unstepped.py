"""Loops whose steps no hook can see: gradients are computed, and no optimizer ever steps."""

from collections.abc import Callable
from typing import Any

import torch

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.overhead_account import Resting
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.notice import NoticeKind

_ENOUGH = 50


class Unstepped:
    """Says it, rather than to record nothing in silence."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._gradients = 0
        session.listeners.on_end(self._say)

    def attach(self, patches: Patches) -> None:
        """Sees the other way to compute gradients, too."""
        patches.wrap(torch.autograd, "grad", self._grad)

    def computed(self) -> None:
        """Gradients were computed."""
        self._gradients += 1
        if self._gradients == _ENOUGH:
            self._say()

    def _grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling = torch.compiler.is_compiling
        computed = self._session.hook("gradients", self.computed, None, Resting.SKIPS)

        def grad(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if not is_compiling():
                computed()
            return result

        return grad

    def _say(self) -> None:
        if self._gradients and not self._session.steps.counts["train"]:
            self._session.store.notice(
                NoticeKind.NOT_COLLECTED,
                "training steps",
                "gradients are computed, and no optimizer of torch.optim is seen to step (it may "
                "step inside a compiled function, or the script updates its weights itself): call "
                "sonde.step() at the end of each step",
            )
