"""The training loop as PyTorch shows it: backward passes and optimizer steps."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch._C import _current_graph_task_id
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from sonde.collect.session import Session
from sonde.collect.torch.losses import Losses
from sonde.collect.torch.marks import Marks
from sonde.collect.torch.modules import Modules
from sonde.collect.torch.names import Names
from sonde.collect.torch.optimizers import Optimizers, parameters_of
from sonde.collect.torch.patches import Patches
from sonde.collect.torch.uncompiled import leave_alone
from sonde.collect.torch.unstepped import Unstepped
from sonde.records.step import Phase

_BACKWARD, _OPTIMIZER = Phase.BACKWARD.value, Phase.OPTIMIZER.value


class UpdateListener(Protocol):
    """Somebody who looks at gradients and weights right before an optimizer uses them."""

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """All gradients of the step are there; nothing was updated yet."""


class TrainingLoop:
    """Tells the session's steps what the loop does."""

    def __init__(
        self, session: Session, modules: Modules, names: Names, losses: Losses, marks: Marks
    ) -> None:
        self._session = session
        self._steps = session.steps
        self._modules = modules
        self._names = names
        self._losses = losses
        self._marks = marks
        self._stepping: int | None = None  # the optimizer that steps just now
        self._start_ns = 0
        self._in_closure = 0  # backward passes inside an optimizer's closure
        self._has_closure = False
        self._unstepped = Unstepped(session)
        self._handles: list[Any] = []
        self._named: dict[int, tuple[int, int]] = {}  # optimizers whose parameters have names
        self.optimizers = Optimizers(session.guard.shield("optimizers", self._made, None))
        self._listeners: list[Callable[..., None]] = []

    def attach(self, patches: Patches) -> None:
        """Sees backward passes and optimizer steps."""
        self.optimizers.attach(patches)
        self._unstepped.attach(patches)
        patches.wrap(torch.autograd, "backward", self._backward)
        for scaler in (torch.amp.GradScaler,):
            patches.wrap(scaler, "scale", self._scaling)
            patches.wrap(scaler, "step", self._scaled_step)
        before = self._session.hook("optimizer steps", self._before_step, None)
        after = self._session.hook("optimizer steps", self._after_step, None)
        is_compiling = torch.compiler.is_compiling

        def pre_hook(optimizer: Optimizer, args: Any, kwargs: Any) -> Any:
            return None if is_compiling() else before(optimizer, args, kwargs)

        def post_hook(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
            if not is_compiling():
                after(optimizer)

        leave_alone(pre_hook)
        leave_alone(post_hook)
        self._handles = [
            register_optimizer_step_pre_hook(pre_hook),
            register_optimizer_step_post_hook(post_hook),
        ]

    def listen(self, part: str, listener: UpdateListener) -> None:
        """Tells somebody before every update; who fails is told no more, and steps count on."""
        shield = self._session.guard.shield
        self._listeners.append(shield(part, listener.before_update, None))

    def detach(self) -> None:
        """Takes the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _made(self, optimizer: Optimizer) -> None:
        self.optimizers.number_of(optimizer)
        self._modules.refresh()
        self._modules.owned.update(id(parameter) for parameter in parameters_of(optimizer))

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        now_ns, is_compiling = self._session.clock.now_ns, torch.compiler.is_compiling
        begins = self._session.hook("backward passes", self._backward_begins, None)
        ends = self._session.hook("backward passes", self._backward_ends, None)

        def backward(*args: Any, **kwargs: Any) -> Any:
            # checkpointing may call it inside of a backward pass
            if is_compiling() or _current_graph_task_id() != -1:
                return original(*args, **kwargs)
            begins(args[0] if args else kwargs.get("tensors"))
            start_ns = now_ns()
            result = original(*args, **kwargs)
            ends(start_ns)
            return result

        return backward

    def _backward_begins(self, tensors: Any) -> None:
        self._modules.forget_calls()
        if self._stepping is None or not self._in_closure:
            self._losses.root(tensors)
        self._marks.begin(_BACKWARD)

    def _backward_ends(self, start_ns: int) -> None:
        self._marks.end(_BACKWARD)
        if self._has_closure and self._stepping is not None:
            self._in_closure += 1
            if self._in_closure > 1:  # a line search: the same step looks again
                self._steps.span(_BACKWARD, start_ns)
                return
        self._steps.backward(start_ns)
        self._unstepped.computed()

    def _before_step(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        number = self.optimizers.number_of(optimizer)
        if self._stepping is not None and self._stepping != number and self._is_nested():
            return None
        self._modules.refresh()
        self._steps.optimizers_alive = self.optimizers.alive
        self._steps.optimizer_begins(number)
        self._stepping, self._in_closure = number, 0
        self._start_ns = self._session.clock.now_ns()
        self._marks.begin(_OPTIMIZER)
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        self._has_closure = closure is not None
        if closure is None:
            self._look(optimizer, number)
            return None
        watched = self._watched_closure(closure, optimizer, number)
        if len(args) > 1:
            return (args[0], watched, *args[2:]), kwargs
        return args, {**kwargs, "closure": watched}

    def _is_nested(self) -> bool:
        """Whether another optimizer steps inside this one; not if that one has raised."""
        return self._session.clock.now_ns() - self._start_ns < 60_000_000_000

    def _watched_closure(
        self, closure: Callable[[], Any], optimizer: Optimizer, number: int
    ) -> Callable[[], Any]:
        """The closure makes the gradients: the look at them comes after its first call."""
        look = self._session.hook("optimizer steps", self._look, None)
        has_looked = False

        def watched() -> Any:
            nonlocal has_looked
            result = closure()
            if not has_looked:
                has_looked = True
                look(optimizer, number)
            return result

        return watched

    def _look(self, optimizer: Optimizer, number: int) -> None:
        size = sum(len(group["params"]) for group in optimizer.param_groups)
        known = (size, self._modules.made)
        if self._named.get(number) != known:
            self._named[number] = known
            self._names.learn(self._modules.roots)
            self._names.adopt(optimizer, number)
        for before_update in self._listeners:
            before_update(optimizer, number)

    def _after_step(self, optimizer: Optimizer) -> None:
        number = self.optimizers.number_of(optimizer)
        if self._stepping != number:
            return
        self._stepping = None
        self._has_closure = False
        self._marks.end(_OPTIMIZER)
        self._losses.optimizer_stepped(number)
        self._steps.optimizer_ends(number, self._start_ns)

    def _scaling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        noted = self._session.hook("losses", self._losses.scaled, None)

        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            noted(outputs, result)
            return result

        return scale

    def _scaled_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        now_ns = self._session.clock.now_ns
        ends = self._session.hook("optimizer steps", self._scaler_stepped, None)

        def step(scaler: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            start_ns, before = now_ns(), self._session.steps.counts.get("train", 0)
            result = original(scaler, optimizer, *args, **kwargs)
            ends(scaler, optimizer, start_ns, before)
            return result

        return step

    def _scaler_stepped(
        self, scaler: Any, optimizer: Optimizer, start_ns: int, before: int
    ) -> None:
        """A scaler that found infinite gradients has left the optimizer alone: a skipped step."""
        number = self.optimizers.number_of(optimizer)
        scale = getattr(scaler, "_scale", None)  # get_scale() would wait for the device
        if isinstance(scale, Tensor) and scale.device.type == "cpu":
            self._session.scalar("loss_scale", float(scale))
        if self._start_ns >= start_ns:
            return
        self._steps.optimizer_begins(number)
        self._losses.optimizer_stepped(number)
        self._steps.optimizer_ends(number, start_ns, is_skipped=True)
