"""Reports loops that compute gradients but never call an optimizer."""

from collections.abc import Callable
from typing import Any

import torch

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.overhead_account import Resting
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.notice import NoticeKind

_MIN_GRADIENTS = 50


class MissingSteps:
    """Reports missing training steps instead of silently recording nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._gradients = 0
        session.listeners.on_end(self._report)

    def attach(self, patches: Patches) -> None:
        """Wrap `torch.autograd.grad`."""
        patches.wrap(torch.autograd, "grad", self._wrap_grad)

    def count_gradient(self) -> None:
        """Count a gradient computation."""
        self._gradients += 1
        if self._gradients == _MIN_GRADIENTS:
            self._report()

    def _wrap_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling = torch.compiler.is_compiling
        count_gradient = self._session.hook("gradients", self.count_gradient, None, Resting.SKIPS)

        def grad(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if not is_compiling():
                count_gradient()
            return result

        return grad

    def _report(self) -> None:
        if self._gradients and not self._session.steps.counts["train"]:
            self._session.store.notice(
                NoticeKind.NOT_COLLECTED,
                "training steps",
                "the script computes gradients, but no torch.optim optimizer step was detected. "
                "The optimizer may run inside a compiled function, or the script may update its "
                "weights directly. Call sonde.step() at the end of each step",
            )
