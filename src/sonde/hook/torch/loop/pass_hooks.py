"""Outermost forward passes: hooks on modules, and listeners for the beginning and end of passes."""

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._C import _current_graph_task_id, _get_tracing_state

from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.overhead_account import Resting
from sonde.hook.session import Session
from sonde.hook.steps import Pass
from sonde.hook.torch.loop.deferred_hooks import (
    EVALUATION,
    FORWARD,
    DeferredHooks,
    Note,
    references,
)
from sonde.hook.torch.loop.device_phases import Marks
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.patching.hooks import PostHook, PreHook
from sonde.hook.torch.patching.identities import IdentitySet
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.host_numbers import number_in
from sonde.records.step import Phase

BeginListener = Callable[[ForwardPass, nn.Module, tuple[Any, ...], dict[str, Any]], None]
EndListener = Callable[[ForwardPass, nn.Module, Any], None]


class PassHooks:
    """Detects outermost passes and notifies listeners, or defers the pass."""

    def __init__(
        self,
        session: Session,
        marks: Marks,
        deferred: DeferredHooks,
        is_trained: Callable[[nn.Module], bool],
    ) -> None:
        self._session = session
        self._marks = marks
        self._deferred = deferred
        self._is_trained = is_trained  # whether an optimizer owns parameters of a module
        self._calls: list[tuple[int, int]] = []  # open calls: module identity and start
        self._at_begin: list[BeginListener] = []
        self._at_end: list[EndListener] = []
        self.called: set[int] = set()  # identities of modules that were called
        self.latest: ForwardPass | None = None  # the current or previous pass
        # called with deferred evaluation passes and the losses computed inside
        self.at_evaluation: list[Callable[[ForwardPass, list[tuple[str, float]]], None]] = []
        deferred.on_note(EVALUATION, self._read_evaluation)

    def listen(
        self, task: str, begins: BeginListener | None = None, ends: EndListener | None = None
    ) -> None:
        """Call listeners when an outermost pass begins and ends; a failing listener is dropped."""
        shield = self._session.guard.shield
        if begins is not None:
            self._at_begin.append(shield(task, begins, None))
        if ends is not None:
            self._at_end.append(shield(task, ends, None))

    def as_pass(
        self, function: Callable[..., Any], module_of: Callable[[Any], nn.Module]
    ) -> Callable[..., Any]:
        """Wrap a function as the outermost pass of a module that is never called itself."""
        begins, ends = self.begins_and_ends()
        state = self._session.state

        def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if state.is_resting:
                    return function(owner, *args, **kwargs)
                module = module_of(owner)
                begins(module, args, kwargs)
                result = function(owner, *args, **kwargs)
                ends(module, result)
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    @property
    def is_running(self) -> bool:
        """Whether an outermost pass is running."""
        return bool(self._calls)

    def forget_calls(self) -> None:
        """Drop open calls of passes that raised, which never end."""
        self._calls.clear()

    def before(self, begins: Callable[..., None]) -> PreHook:
        """The hook before a module call."""
        is_compiling, has_gradients = torch.compiler.is_compiling, torch.is_grad_enabled
        deferred, now_ns, get_ident = (
            self._deferred,
            self._session.clock.now_ns,
            threading.get_ident,
        )
        is_trained, feeds, current = self._is_trained, deferred.feeds, deferred.current

        def before(module: nn.Module, args: Any, kwargs: Any) -> None:
            # constant while tracing, so nothing of Sonde remains in compiled code
            if is_compiling():
                return
            if deferred.is_on and get_ident() == deferred.thread_id:
                if current.is_in_backward:
                    return
                if has_gradients():
                    is_deferred = module.training
                else:
                    is_deferred = (
                        not module.training and deferred.may_defer_evaluation and is_trained(module)
                    )
                if is_deferred:
                    # the same module is open already: its earlier pass raised
                    if not current.depth or id(module) == current.outermost:
                        current.depth, current.inner_losses, current.outermost = 0, [], id(module)
                        current.inputs = references(enumerate(args))
                        current.start_ns, current.is_evaluating = now_ns(), not module.training
                        is_training = module.training
                        feeds.latest.is_training |= is_training
                        feeds.training_passes += is_training
                        feeds.batch = is_training or feeds.batch_of(module, args, kwargs)
                        current.on_begin(is_training, args, kwargs)
                    current.depth += 1
                    return
            begins(module, args, kwargs)

        return before

    def after(self, ends: Callable[..., None]) -> PostHook:
        """The hook after a module call."""
        is_compiling = torch.compiler.is_compiling
        deferred, now_ns, get_ident = (
            self._deferred,
            self._session.clock.now_ns,
            threading.get_ident,
        )
        output_loss = self._session.guard.shield("losses of evaluations", loss_in, None)
        current, feeds = deferred.current, deferred.feeds

        def after(module: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
            if is_compiling():
                return
            if current.depth and get_ident() == deferred.thread_id:
                current.depth -= 1
                if not current.depth:
                    kind = EVALUATION if current.is_evaluating else FORWARD
                    loss = output_loss(output) if current.is_evaluating else None
                    details, current.inner_losses = (current.inner_losses, feeds.batch), []
                    deferred.note((kind, current.start_ns, now_ns(), loss, details))
            elif not (deferred.is_on and current.is_in_backward):
                ends(module, output)

        return after

    def begins_and_ends(self) -> tuple[Callable[..., None], Callable[..., None]]:
        """Guarded functions to call at the beginning and end of a pass."""
        hook, skips = self._session.hook, Resting.SKIPS
        begins = hook("forward passes", self._begins, None, skips)
        skip_in_compiler(begins, with_callees=True)  # covers all hooks, which share one code object
        return begins, hook("forward passes", self._ends, None, skips)

    def wrap_compiled_call(
        self, module: nn.Module, compiled: Callable[..., Any], hooked: IdentitySet[nn.Module]
    ) -> Callable[..., Any]:
        """Wrap the compiled call of a module, which does not run the module's hooks."""
        begins, ends = self.begins_and_ends()
        is_compiling, reference = torch.compiler.is_compiling, weakref.ref(module)

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                if is_compiling() or (called := reference()) not in hooked:
                    return compiled(*args, **kwargs)
                begins(called, args, kwargs)
                result = compiled(*args, **kwargs)
                ends(called, result)
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        skip_in_compiler(hidden_from_warnings(call))
        return call

    def _begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if _current_graph_task_id() != -1 or _get_tracing_state() is not None:
            return  # recomputation in a backward pass, or tracing
        if self._calls and any(running == id(module) for running, _ in self._calls):
            self._calls.clear()  # the earlier pass raised
        is_outermost = not self._calls
        if is_outermost:
            self._marks.begin(Phase.FORWARD.value)
        self._calls.append((id(module), self._session.clock.now_ns()))
        self.called.add(id(module))
        if is_outermost:
            self.latest = ForwardPass(self._session.steps, self._kind(module))
            for begins in self._at_begin:
                begins(self.latest, module, args, kwargs)

    def _ends(self, module: nn.Module, output: Any) -> None:
        while self._calls and self._calls[-1][0] != id(module):
            self._calls.pop()
        if not self._calls:
            return
        _, start_ns = self._calls.pop()
        forward = self.latest
        if self._calls or forward is None:
            return
        self._marks.end(Phase.FORWARD.value)
        for ends in self._at_end:
            ends(forward, module, output)
        is_settled = forward.at is not None
        on_settled = None if is_settled else forward.settle
        self._session.steps.forward(start_ns, forward.kind, on_settled)

    def _read_evaluation(self, note: Note) -> None:
        """Replay a deferred evaluation pass."""
        _, start_ns, _, loss, (inner, batch) = note
        self.latest = forward = ForwardPass(self._session.steps, Pass.EVAL)
        forward.batch = batch
        for begins in self.at_evaluation:
            begins(forward, inner if loss is None else [("loss", loss)])
        is_settled = forward.at is not None
        self._session.steps.forward(start_ns, Pass.EVAL, None if is_settled else forward.settle)

    def _kind(self, module: nn.Module) -> Pass:
        has_gradients = torch.is_grad_enabled()
        if has_gradients and module.training:
            return Pass.TRAIN
        is_certain = not (has_gradients or module.training) and self._is_trained(module)
        return Pass.EVAL if is_certain else Pass.UNDECIDED


def loss_in(output: Any) -> float | None:
    """The loss in the output of a model, if it is a number on the CPU."""
    is_table = isinstance(output, dict)
    return number_in(output.get("loss") if is_table else getattr(output, "loss", None))
