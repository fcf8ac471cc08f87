"""Hooks on backward passes and on the clearing of gradients."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from sonde.hook.call_site import CallSites, Chain
from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.torch.loop.backward_calls import wrap_backward
from sonde.hook.torch.loop.backward_steps import BackwardSteps
from sonde.hook.torch.loop.deferred_hooks import BACKWARD, Note
from sonde.hook.torch.loop.loop_state import LoopContext, LoopState
from sonde.hook.torch.loop.losses import ACCUMULATES, divisor_of, operation_of
from sonde.hook.torch.loop.optimizers import Optimizers
from sonde.hook.torch.loop.unstepped import MissingSteps
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.host_numbers import number_in
from sonde.records.step import Phase

_BACKWARD = Phase.BACKWARD.value
_MAX_LOSS = sys.float_info.max  # of finite losses


class BackwardPasses:
    """Reports backward passes to the steps, or defers them."""

    def __init__(
        self,
        context: LoopContext,
        state: LoopState,
        optimizers: Optimizers,
        by_backward: BackwardSteps,
    ) -> None:
        session = context.session
        self._session = session
        self._steps = session.steps
        self._deferred = context.deferred
        self._modules = context.modules
        self._losses = context.losses
        self._marks = context.marks
        self._state = state
        self._optimizers = optimizers
        self._by_backward = by_backward
        self._sites = CallSites()
        self._missing_steps = MissingSteps(session)
        # called with the roots of a pass before it changes any gradient
        self.at_begin: list[Callable[[Any], None]] = []
        self.at_end: list[Callable[[], None]] = []
        self.loss_kinds: set[str] = set()  # losses of other kinds are not deferred

    def attach(self, patches: Patches) -> None:
        """Wrap backward passes and the clearing of gradients."""
        self._missing_steps.attach(patches)
        patches.wrap(torch.autograd, "backward", self._wrap_backward)
        for owner in (Optimizer, torch.nn.Module):
            patches.wrap(owner, "zero_grad", self._wrap_zero_grad, is_removable=True)
        self._deferred.on_note(BACKWARD, self._read_backward)

    def _wrap_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        begins = self._session.hook("backward passes", self._begins, None)
        ends = self._session.hook("backward passes", self._ends, None)
        deferred, get_ident, state = self._deferred, threading.get_ident, self._state
        current, weights = deferred.current, state.weights
        kinds, losses = self.loss_kinds, self._losses

        def begin_deferred(args: tuple[Any, ...]) -> tuple[float, Any] | None:
            if not (deferred.is_on and args and get_ident() == deferred.thread_id):
                return None
            value = number_in(args[0])
            if value is None or not abs(value) <= min(losses.limit, _MAX_LOSS):
                current.report_bad_loss()
                return None
            if operation_of(args[0]) not in kinds:
                return None
            site = self._call_site() if state.had_several_passes else ()
            origin = (divisor_of(args[0]), site)
            current.depth, current.is_in_backward, current.inputs = 0, True, []
            weights.backward_begins()
            return value, origin

        skip_in_compiler(begin_deferred)
        now_ns = self._session.clock.now_ns
        awake = wrap_backward(original, deferred, now_ns, begin_deferred, (begins, ends))
        return deferred.rest.losses.wrap_backward(original, hidden_from_warnings(awake))

    def _wrap_zero_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `zero_grad`: a loop that skips a batch discards its gradients."""
        is_compiling, deferred = torch.compiler.is_compiling, self._deferred
        hook_state, loop_state = self._session.state, self._state
        after_clear = self._session.hook("cleared gradients", self._cleared, None)

        def zero_grad(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if hook_state.is_resting:
                return result
            if not is_compiling() and (loop_state.backward_count or deferred.ends_with(BACKWARD)):
                after_clear()
            return result

        return zero_grad

    def _cleared(self) -> None:
        state = self._state
        is_between = state.stepping is None and not state.is_in_backward
        if is_between:
            self._losses.gradients_cleared()
        elif state.has_closure:  # only the passes before this count, not those at later weights
            state.closure_calls = max(1, state.closure_calls)
        is_implicit = is_between and not self._steps.is_explicit
        is_unused = is_implicit and not state.weights.gradients_cleared()
        state.is_cleared = is_unused and self._optimizers.alive == 1

    def _discard(self) -> None:
        """Drop passes whose gradients were cleared before any step used them."""
        self._state.is_cleared = False
        self._state.backward_count = 0
        self._losses.discard()
        self._steps.discard_micro_steps()

    def _read_backward(self, note: Note) -> None:
        _, start_ns, _, value, (divisor, site) = note
        self._losses.deferred_root(value, divisor, site)
        self._state.backward_count += 1
        self._steps.backward(start_ns)
        self._missing_steps.count_gradient()

    def _call_site(self) -> Chain:
        """The call site of backward, or ACCUMULATES without DDP synchronization."""
        for model in self._modules.roots:
            if vars(model).get("require_backward_grad_sync") is False:
                return ACCUMULATES
        return self._sites.chain()

    def _begins(self, tensors: Any) -> None:
        state = self._state
        self._modules.passes.forget_calls()
        self._by_backward.backward_begins(tensors)
        if state.is_cleared:
            self._discard()
        if state.is_in_backward:  # the previous pass raised
            self._losses.forget_last()
        state.is_in_backward = True
        for listener in self.at_begin:
            listener(tensors)
        state.weights.backward_begins()
        if not state.has_loss:
            self._losses.root(tensors, self._call_site())
        self._marks.begin(_BACKWARD)

    def _ends(self, start_ns: int) -> None:
        state = self._state
        state.is_in_backward = False
        for listener in self.at_end:
            listener()
        self._marks.end(_BACKWARD)
        if state.has_loss:
            self._steps.span(_BACKWARD, start_ns)
        else:
            state.backward_count += 1
            self._steps.backward(start_ns)
        self._by_backward.backward_ends()
        if state.stepping is None:
            self._missing_steps.count_gradient()
