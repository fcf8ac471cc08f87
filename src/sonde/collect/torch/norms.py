"""The gradient norm, the learning rates and the clip factor of every step."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import utils
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS
from sonde.collect.budget import Measurement
from sonde.collect.session import Session
from sonde.collect.torch.optimizers import Optimizers, parameters_of
from sonde.collect.torch.patches import Patches
from sonde.collect.torch.scalars import Scalars
from sonde.collect.torch.snapshots import local
from sonde.records.step import Mode

_MOST_GROUPS = 16
_SLACK = 1e-6  # what clip_grad_norm_ adds to a norm before it divides


class Norms:
    """Numbers that sum up what an optimizer is about to do."""

    def __init__(self, session: Session, scalars: Scalars, optimizers: Optimizers) -> None:
        self._session = session
        self._scalars = scalars
        self._optimizers = optimizers
        self._cheap = Measurement()
        self._clipped_step = -1
        self.on_clipped: list[Callable[[], None]] = []

    def attach(self, patches: Patches) -> None:
        """Takes the norm from those who compute it anyway."""
        for owner in (utils, utils.clip_grad):
            patches.wrap(owner, "clip_grad_norm_", self._clipping)

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """All gradients are there."""
        is_alone = self._optimizers.alive <= 1
        self._learning_rates(optimizer, "" if is_alone else f"{number}/")
        step = self._session.steps.number
        if self._clipped_step != step:
            self._gradient_norm(optimizer, "" if is_alone else f"/{number}", step)

    def _learning_rates(self, optimizer: Optimizer, before: str) -> None:
        at = (Mode.TRAIN, self._session.steps.number)
        for group, settings in enumerate(optimizer.param_groups[:_MOST_GROUPS]):
            rate = settings.get("lr")
            if rate is not None:
                on_device = isinstance(rate, Tensor) and rate.device.type != "cpu"
                value = rate.detach() if on_device else float(rate)
                self._scalars.record(f"learning_rate/{before}{group}", [(value, 1.0)], at)

    def _gradient_norm(self, optimizer: Optimizer, after: str, step: int) -> None:
        budget, cheap = self._session.budget, self._cheap
        if not budget.has_room_for_norm(cheap):
            return
        began_ns = self._session.clock.now_ns()
        gradients = [
            local(one.grad.detach())
            for one in parameters_of(optimizer)
            if one.grad is not None and one.grad.layout is torch.strided
        ]
        if not gradients:
            return
        with torch.no_grad():
            norms = torch._foreach_norm(gradients)  # noqa: SLF001 — the one call for all of them
            total = torch.linalg.vector_norm(torch.stack([one.to(torch.float32) for one in norms]))
        value = float(total) if total.device.type == "cpu" else total
        self._scalars.record(f"gradient_norm{after}", [(value, 1.0)], (Mode.TRAIN, step))
        seconds = (self._session.clock.now_ns() - began_ns) / NANOSECONDS
        cheap.inline.learn(seconds)
        budget.norm_took(seconds)

    def _clipping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling = torch.compiler.is_compiling
        noted = self._session.hook("clipping", self._clipped, None)

        def clip_grad_norm_(parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> Any:
            total = original(parameters, max_norm, *args, **kwargs)
            if not is_compiling():
                noted(total, max_norm)
            return total

        return clip_grad_norm_

    def _clipped(self, total: Any, max_norm: Any) -> None:
        if not isinstance(total, Tensor) or local(total) is not total:
            return
        at = (Mode.TRAIN, self._session.steps.number)
        self._clipped_step = at[1]
        value = float(total.detach()) if total.device.type == "cpu" else total.detach()
        most = float(max_norm)
        self._scalars.record("gradient_norm", [(value, 1.0)], at)
        self._scalars.record(
            "clip_factor", [(value, 1.0)], at, lambda norm: min(1.0, most / (norm + _SLACK))
        )
        for listener in self.on_clipped:
            listener()
