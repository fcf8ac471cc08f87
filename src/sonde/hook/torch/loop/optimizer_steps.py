"""Hooks on optimizer steps."""

import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import torch
from torch.optim import Optimizer
from torch.optim import optimizer as step_hooks

from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.torch.loop.backward_steps import BackwardSteps
from sonde.hook.torch.loop.deferred_hooks import FINGERPRINTS, OPTIMIZER, RATES, Note
from sonde.hook.torch.loop.gradient_scaler import GradientScalers
from sonde.hook.torch.loop.loop_state import LoopContext, LoopState
from sonde.hook.torch.loop.optimizers import Optimizers
from sonde.hook.torch.loop.other_threads import OtherThreads
from sonde.hook.torch.loop.step_hooks import StepHooks
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.records.step import Phase

Result = TypeVar("Result")

_OPTIMIZER = Phase.OPTIMIZER.value
_MAX_NESTED_NS = 60_000_000_000  # an outer step that began earlier is assumed to have raised


class UpdateListener(Protocol):
    """Inspects gradients and weights right before an optimizer uses them."""

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """Called when all gradients of the step exist and nothing is updated yet."""


class OptimizerSteps:
    """Reports optimizer steps to the steps, or defers them."""

    def __init__(
        self,
        context: LoopContext,
        state: LoopState,
        optimizers: Optimizers,
        by_backward: BackwardSteps,
    ) -> None:
        self._session = context.session
        self._deferred = context.deferred
        self._modules = context.modules
        self._names = context.names
        self._losses = context.losses
        self._marks = context.marks
        self._state = state
        self._optimizers = optimizers
        self._by_backward = by_backward
        self._has_stepped = False  # an optimizer, in the recorded thread
        self._other_threads = OtherThreads(context.session)
        self._handles: list[Any] = []
        self._named: dict[int, tuple[int, int]] = {}  # signatures of optimizers with names
        self._listeners: list[Callable[..., None]] = []

    def attach(self, patches: Patches) -> None:
        """Register the hooks on optimizer steps."""
        state, deferred = self._state, self._deferred
        deferred.on_note(OPTIMIZER, self._read_step)
        deferred.on_note(RATES, self._read_rates)
        GradientScalers(
            *(self._session, self._losses, deferred.rest),
            *(lambda: state.start_ns, self._step_skipped),
        ).attach(patches)
        pre_hook, post_hook = self._before_steps(), self._after_steps()
        skip_in_compiler(pre_hook)
        skip_in_compiler(post_hook)
        self._handles = [step_hooks.register_optimizer_step_pre_hook(pre_hook)]
        self._handles.append(step_hooks.register_optimizer_step_post_hook(post_hook))
        deferred.rest.add_removable(StepHooks(self._handles, deferred.rest.counting_hook()))

    def detach(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def listen(self, task: str, listener: UpdateListener, *, needs_optimizer: bool = True) -> None:
        """Call a listener before every update; a failing listener is dropped."""
        before_update = self._session.guard.shield(task, listener.before_update, None)
        self._listeners.append(before_update)
        if not needs_optimizer:
            self._by_backward.listeners.append(before_update)

    def run(self, optimizer: Any, update: Callable[[], Result]) -> Result:
        """Run an update between the hooks, as an optimizer step of PyTorch would.

        Args:
            optimizer: What represents an optimizer of another library.
            update: Updates its parameters.
        """
        # looked up each time, since they are replaced while hooks rest
        hooks = [handle.hooks_dict_ref()[handle.id] for handle in self._handles]
        if hooks:
            hooks[0](optimizer, (optimizer,), {})
        result = update()
        if hooks:
            hooks[1](optimizer, (optimizer,), {})
        return result

    def _before_steps(self) -> Callable[..., Any]:
        before = self._session.hook("optimizer steps", self._before_step, None)
        is_compiling, now_ns = torch.compiler.is_compiling, self._session.clock.now_ns
        deferred, get_ident, thread = self._deferred, threading.get_ident, self._session.thread
        update = deferred.update

        def pre_hook(optimizer: Optimizer, args: Any, kwargs: Any) -> Any:
            if is_compiling():
                return None
            is_deferred = deferred.is_on and id(optimizer) == update.optimizer
            if is_deferred and len(args) == 1 and not kwargs and get_ident() == deferred.thread_id:
                update.start_ns = start_ns = now_ns()
                rates = [group["lr"] for group in optimizer.param_groups]
                if rates != update.rates:
                    update.rates = rates
                    deferred.notes.append((RATES, start_ns, start_ns, rates, None))
                if update.fingerprints is not None:
                    fingerprints = update.fingerprints()
                    deferred.notes.append((FINGERPRINTS, start_ns, start_ns, fingerprints, None))
                return None
            update.start_ns = 0
            if get_ident() != thread.id:
                self._other_threads.steps(is_idle=not self._has_stepped)
            return before(optimizer, args, kwargs)

        return pre_hook

    def _after_steps(self) -> Callable[..., None]:
        after = self._session.hook("optimizer steps", self._after_step, None)
        is_compiling, now_ns = torch.compiler.is_compiling, self._session.clock.now_ns
        deferred, update = self._deferred, self._deferred.update

        def post_hook(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
            if is_compiling():
                return
            if update.start_ns and id(optimizer) == update.optimizer:
                end_ns, start_ns, update.start_ns = now_ns(), update.start_ns, 0
                deferred.notes.append((OPTIMIZER, start_ns, end_ns, update.number, None))
                deferred.after_step(end_ns)
            else:
                after(optimizer)

        return post_hook

    def _before_step(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        state, steps = self._state, self._session.steps
        number = self._optimizers.number_of(optimizer)
        if state.stepping is not None and state.stepping != number and self._is_nested():
            return None
        state.was_cleared, state.is_cleared = state.is_cleared, False
        self._by_backward.optimizer_steps()
        self._has_stepped = True
        self._optimizers.steps_in_recorded_thread(number)
        self._modules.refresh()
        self._modules.hook_uncalled()
        steps.optimizers_alive = self._optimizers.alive
        steps.optimizer_begins(number)
        state.stepping, state.closure_calls = number, 0
        state.start_ns = self._session.clock.now_ns()
        self._marks.begin(_OPTIMIZER)
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        state.has_closure = closure is not None
        if closure is None:
            self._inspect(optimizer, number)
            return None
        inspected_closure = self._wrap_closure(closure, optimizer, number)
        if len(args) > 1:
            return (args[0], inspected_closure, *args[2:]), kwargs
        return args, {**kwargs, "closure": inspected_closure}

    def _is_nested(self) -> bool:
        """Whether the step runs inside another optimizer's step, unless that one raised."""
        return self._session.clock.now_ns() - self._state.start_ns < _MAX_NESTED_NS

    def _wrap_closure(
        self, closure: Callable[[], Any], optimizer: Optimizer, number: int
    ) -> Callable[[], Any]:
        """Wrap a closure, which computes the gradients, to inspect them after its first call."""
        inspect, state = self._session.hook("optimizer steps", self._inspect, None), self._state
        is_inspected = False

        def inspected_closure() -> Any:
            nonlocal is_inspected
            try:
                result = closure()
            except BaseException as error:
                drop_frame(error)
                raise
            state.closure_calls += 1
            if not is_inspected:
                is_inspected = True
                inspect(optimizer, number)
            return result

        return hidden_from_warnings(inspected_closure)

    def _inspect(self, optimizer: Optimizer, number: int) -> None:
        size = sum(len(group["params"]) for group in optimizer.param_groups)
        signature = (size, self._modules.made)
        if self._named.get(number) != signature:
            self._named[number] = signature
            self._names.learn(self._modules.roots)
            self._names.adopt(optimizer, number)
        for before_update in self._listeners:
            before_update(optimizer, number)

    def _after_step(self, optimizer: Optimizer) -> None:
        state, losses = self._state, self._losses
        number = self._optimizers.number_of(optimizer)
        if state.stepping != number:
            return
        has_closure = state.has_closure
        state.stepping, state.has_closure = None, False
        self._marks.end(_OPTIMIZER)
        is_finite = losses.non_finite is None
        self._stepped(number, state.start_ns)
        if is_finite:
            is_plain = not (has_closure or losses.is_adjusted) and self._session.steps.is_plain
            self._deferred.after_inspected_step(optimizer, number, is_plain)

    def _stepped(self, number: int, start_ns: int, *, is_skipped: bool = False) -> None:
        """Add an optimizer step, or one that a gradient scaler skipped."""
        state, steps = self._state, self._session.steps
        state.had_several_passes, state.backward_count = state.backward_count > 1, 0
        state.weights.optimizer_stepped()
        steps.join_backwards(self._losses.optimizer_stepped(number))
        steps.optimizer_ends(number, start_ns, is_skipped=is_skipped)

    def _step_skipped(self, optimizer: Optimizer, start_ns: int) -> None:
        number = self._optimizers.number_of(optimizer)
        self._session.steps.optimizer_begins(number)
        self._stepped(number, start_ns, is_skipped=True)

    def _read_step(self, note: Note) -> None:
        _, start_ns, _, number, _ = note
        self._state.start_ns = start_ns
        self._session.steps.optimizer_begins(number)
        self._stepped(number, start_ns)

    def _read_rates(self, note: Note) -> None:
        for group, rate in enumerate(note[3]):
            self._session.recorder.scalar(f"learning_rate/{group}", rate)
