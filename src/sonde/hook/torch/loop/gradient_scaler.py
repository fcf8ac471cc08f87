"""Gradient scalers: unscaled losses and skipped steps."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.loop.losses import Losses
from sonde.hook.torch.loop.resting import Rest
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Mode


class GradientScalers:
    """Wraps `GradScaler.scale` and `GradScaler.step`."""

    def __init__(
        self,
        session: Session,
        losses: Losses,
        rest: Rest,
        last_start_ns: Callable[[], int],
        on_skipped: Callable[[Optimizer, int], None],
    ) -> None:
        self._session = session
        self._losses = losses
        self._rest = rest
        self._last_start_ns = last_start_ns  # start of the latest optimizer step
        self._skipped = on_skipped  # called with the optimizer and the start of the skipped step

    def attach(self, patches: Patches) -> None:
        """Wrap the methods that scripts call."""
        patches.wrap(torch.amp.GradScaler, "scale", self._wrap_scale)
        patches.wrap(torch.amp.GradScaler, "step", self._wrap_step)

    def _wrap_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        after_scaling = self._session.hook("losses", self._losses.note_scaling, None)
        state = self._session.state

        def scale(scaler: Any, outputs: Any) -> Any:
            try:
                result = original(scaler, outputs)
            except BaseException as error:
                drop_frame(error)
                raise
            if state.is_resting:
                self._rest.losses.note_scaling(outputs, result)
            else:
                after_scaling(outputs, result)
            return result

        return scale

    def _wrap_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        now_ns = self._session.clock.now_ns
        after_step = self._session.hook("optimizer steps", self._stepped, None)
        state, counter = self._session.state, self._rest.counter

        def step(scaler: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            start_ns, before = now_ns(), self._session.steps.counts.get("train", 0)
            was_resting, seen = state.is_resting, counter.seen
            try:
                result = original(scaler, optimizer, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            # at rest, only a step that the scaler skipped needs attention
            is_noted = counter.seen > seen if was_resting else state.is_resting
            if not is_noted:
                after_step(scaler, optimizer, start_ns, before)
            return result

        return step

    def _stepped(self, scaler: Any, optimizer: Optimizer, start_ns: int, before: int) -> None:
        """Record the loss scale; report a skipped step if the optimizer did not step."""
        scale = getattr(scaler, "_scale", None)  # get_scale() would wait for the device
        if isinstance(scale, Tensor) and scale.device.type == "cpu":
            self._session.recorder.scalar("loss_scale", float(scale), at=(Mode.TRAIN.value, before))
        if self._last_start_ns() < start_ns:
            self._skipped(optimizer, start_ns)
