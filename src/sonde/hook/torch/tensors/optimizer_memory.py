"""Gradient norms between two inspected steps, from the optimizer's running averages.

Adam and similar optimizers keep a running mean of squared gradients. Its change since the last
sample is the mean over all steps in between, so it shows a spike even at a step without inspection.
"""

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import torch
from torch import Tensor, _foreach_norm
from torch.optim import Adam, NAdam, Optimizer, RAdam, RMSprop

from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.tensors.shards import full_tensor, local

_MIN_UPDATES = 8  # between two samples; more frequent ones add little
_MIN_NEW_SHARE = 1e-4  # of the running mean: less is lost in rounding
_PRECISE_DTYPES = (torch.float32, torch.float64)  # others are too coarse for decay


@dataclass(frozen=True, slots=True)
class _Memory:
    """The running mean of squared gradients at one step."""

    updates: float  # steps so far
    tensors: int  # parameters that have a gradient now
    squares: float  # the running mean of the squared norm of their gradients
    decay: float  # the share that remains at each update


class OptimizerMemory:
    """Compare the running averages of optimizers with their previous values."""

    def __init__(self) -> None:
        self._before: IdentityMap[Optimizer, _Memory] = IdentityMap()

    def norm_since(self, optimizer: Optimizer) -> float | None:
        """Return the root mean square of gradient norms since the last call; None if unknown.

        It is a lower bound of the largest norm. The current gradients are not included yet.
        """
        updates = _updates_of(optimizer)
        before = self._before.get(optimizer)
        if updates is None or (before and 0 <= updates - before.updates < _MIN_UPDATES):
            return None
        now = self._before[optimizer] = _read_memory(optimizer, updates)
        if before is None or (before.tensors, before.decay) != (now.tensors, now.decay):
            return None
        remaining_share = before.decay ** (updates - before.updates)
        new = now.squares - remaining_share * before.squares
        is_known = isfinite(new) and 0 <= remaining_share < 1 and new > _MIN_NEW_SHARE * now.squares
        return sqrt(new / (1 - remaining_share)) if is_known else None


def _updates_of(optimizer: Optimizer) -> float | None:
    """Return the number of updates of an Adam-like optimizer; None for others."""
    if not isinstance(optimizer, (Adam, NAdam, RAdam, RMSprop)):
        return None
    state: dict[str, Any] = next(iter(optimizer.state.values()), {})
    updates, squares = state.get("step"), _squares_in(state)
    if isinstance(updates, Tensor):
        updates = full_tensor(updates)
    is_readable = squares is not None and not (isinstance(updates, Tensor) and not updates.is_cpu)
    return float(updates) if is_readable and updates is not None else None


def _squares_in(state: dict[str, Any]) -> Tensor | None:
    """Return the running mean of a parameter's squared gradients, if precise and on the host."""
    squares = state.get("exp_avg_sq", state.get("square_avg"))
    if not isinstance(squares, Tensor):
        return None
    squares = local(squares)
    return squares if squares.is_cpu and squares.dtype in _PRECISE_DTYPES else None


def _read_memory(optimizer: Optimizer, updates: float) -> _Memory:
    tensors: list[Tensor] = []
    decays: set[float] = set()
    for group in optimizer.param_groups:
        decays.add(float(group["betas"][1] if "betas" in group else group["alpha"]))
        for parameter in group["params"]:
            state = {} if parameter.grad is None else optimizer.state.get(parameter, {})
            if (squares := _squares_in(state)) is not None:
                tensors.append(squares)
    if not tensors or len(decays) > 1:
        return _Memory(updates, 0, 0.0, 0.0)
    with torch.no_grad():
        total = torch.stack([norm.double() for norm in _foreach_norm(tensors, 1)]).sum()
    return _Memory(updates, len(tensors), float(total), decays.pop())
