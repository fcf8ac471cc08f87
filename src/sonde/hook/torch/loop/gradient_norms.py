"""Gradient norm, learning rates and clip factor of each step."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, _foreach_norm
from torch.nn import utils
from torch.optim import Optimizer

from sonde.clock import thread_cpu_seconds
from sonde.hook.budget import Measurement
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.overhead_account import Resting
from sonde.hook.session import Session
from sonde.hook.torch.loop.optimizers import Optimizers, parameters_of
from sonde.hook.torch.loop.resting import Rest
from sonde.hook.torch.loop.step_ends import ClippedNorm
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.tensors.device_scalars import DeviceScalars
from sonde.hook.torch.tensors.due_tensors import DueTensors
from sonde.hook.torch.tensors.optimizer_memory import OptimizerMemory
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.statistics import Measured
from sonde.hook.torch.tensors.tensor_records import Listener
from sonde.records.step import Mode
from sonde.store.statistics import COLUMNS

_TRAIN = Mode.TRAIN.value
_MAX_GROUPS = 16


class GradientNorms:
    """Records gradient norms and learning rates before each update."""

    def __init__(
        self,
        session: Session,
        scalars: DeviceScalars,
        optimizers: Optimizers,
        gather: DueTensors,
        rest: Rest,
    ) -> None:
        self._session = session
        self._rest = rest
        self._scalars = scalars
        self._optimizers = optimizers
        self._gather = gather
        gather.listen = self._listener
        self._cheap = Measurement()
        self._clipped_step = -1
        self._optimizer_memory = OptimizerMemory()
        self._guarded_norm_between = session.guard.shield(
            "norms between steps", self._norm_between, None
        )

    def attach(self, patches: Patches) -> None:
        """Wrap `clip_grad_norm_`, whose norm is recorded."""
        for owner in (utils, utils.clip_grad):
            patches.wrap(owner, "clip_grad_norm_", self._wrap_clip)

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """Record norms and learning rates before an optimizer step."""
        is_alone = self._optimizers.alive <= 1
        step = self._session.steps.number
        self._learning_rates(optimizer, "" if is_alone else f"{number}/", (_TRAIN, step))
        is_clipped = self._clipped_step == step
        is_known = is_clipped or self._gather.includes_gradients()
        if self._session.windows.is_open or not (
            is_known or self._session.overhead.budget.has_room_for_norm(self._cheap)
        ):
            return
        suffix = "" if is_alone else f"/{number}"
        if not is_known:
            self._gradient_norm(optimizer, suffix, step)
        if not is_clipped:
            self._guarded_norm_between(optimizer, suffix, step)

    def _learning_rates(self, optimizer: Optimizer, prefix: str, at: tuple[str, int]) -> None:
        for group, settings in enumerate(optimizer.param_groups[:_MAX_GROUPS]):
            rate = settings.get("lr")
            if type(rate) is float:
                self._session.recorder.scalar(f"learning_rate/{prefix}{group}", rate, at=at)
            elif rate is not None:
                on_device = isinstance(rate, Tensor) and rate.device.type != "cpu"
                value = rate.detach() if on_device else float(rate)
                self._scalars.record(f"learning_rate/{prefix}{group}", [(value, 1.0)], at)

    def _listener(self, number: int) -> Listener | None:
        """Return a listener that derives the norm from collected gradient statistics."""
        if self._clipped_step == self._session.steps.number:
            return None  # already recorded, before clipping
        name = "gradient_norm" if self._optimizers.alive <= 1 else f"gradient_norm/{number}"

        def measured(statistics: Measured, at: tuple[str, int]) -> None:
            norm = _norm_of_gradients(statistics)
            if norm is not None:
                self._session.recorder.scalar(name, norm, at=at)

        return measured

    def _gradient_norm(self, optimizer: Optimizer, suffix: str, step: int) -> None:
        began = thread_cpu_seconds()
        gradients = [
            local(tensor.grad).detach()
            for tensor in parameters_of(optimizer)
            if tensor.grad is not None and tensor.grad.layout is torch.strided
        ]
        if not gradients:
            return
        with torch.no_grad():
            norms = _foreach_norm(gradients)
            # combine norms of a model spread over several devices on the first one
            device = norms[0].device
            on_one_device = [
                tensor.to(device, torch.float32, non_blocking=True) for tensor in norms
            ]
            total = torch.linalg.vector_norm(torch.stack(on_one_device))
        value = float(total) if total.device.type == "cpu" else total
        self._scalars.record(f"gradient_norm{suffix}", [(value, 1.0)], (_TRAIN, step))
        seconds = thread_cpu_seconds() - began
        self._cheap.inline.learn(seconds)
        self._session.overhead.budget.charge_norm(seconds)

    def _norm_between(self, optimizer: Optimizer, suffix: str, step: int) -> None:
        """Record a norm derived from optimizer state, which covers steps without a norm."""
        began = thread_cpu_seconds()
        norm = self._optimizer_memory.norm_since(optimizer)
        if norm is not None:
            self._session.recorder.scalar(f"gradient_norm{suffix}/between", norm, at=(_TRAIN, step))
        self._session.overhead.budget.charge_norm(thread_cpu_seconds() - began)

    def _wrap_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling = torch.compiler.is_compiling
        after_clipping = self._session.hook("clipping", self._clipped, None, Resting.SKIPS)
        note_while_resting = self._session.guard.shield("clipping", self._rest.losses.clipped, None)
        state = self._session.state

        def clip_grad_norm_(parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                total = original(parameters, max_norm, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if state.is_resting:
                note_while_resting(total, max_norm)
            elif not is_compiling():
                after_clipping(total, max_norm)
            return total

        return clip_grad_norm_

    def _clipped(self, total: Any, max_norm: Any) -> None:
        if not isinstance(total, Tensor) or local(total) is not total:
            return
        at = (_TRAIN, self._session.steps.number)
        self._clipped_step = at[1]
        value = float(total.detach()) if total.device.type == "cpu" else total.detach()
        self._scalars.record("gradient_norm", [(value, 1.0)], at)
        clipped = ClippedNorm(value, float(max_norm))
        self._scalars.record("clip_factor", [(value, 1.0)], at, clipped.factor)
        self._gather.note_clipping()


def _norm_of_gradients(measured: Measured) -> float | None:
    """The norm of all gradients among the measured tensors; None without gradients."""
    squares = bad = 0.0
    has_gradients = False
    columns = dict(zip(COLUMNS, measured.columns, strict=True))
    for index, name in enumerate(measured.names):
        if name.startswith("gradient/"):
            has_gradients = True
            squares += columns["sum_of_squares"][index]
            bad += columns["nans"][index] + columns["infinities"][index]
    if not has_gradients:
        return None
    return math.nan if bad else math.sqrt(squares)
