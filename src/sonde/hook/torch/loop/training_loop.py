"""The training loop as PyTorch shows it: backward passes and optimizer steps."""

import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch.optim import Optimizer
from torch.optim import optimizer as step_hooks

from sonde.hook.call_site import CallSites, Chain
from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.session import Session
from sonde.hook.steps import Pass
from sonde.hook.torch.loop.backward_calls import watched_backward
from sonde.hook.torch.loop.backward_steps import BackwardSteps
from sonde.hook.torch.loop.deferred_hooks import (
    BACKWARD,
    DATA_WAIT,
    FINGERPRINTS,
    FORWARD,
    OPTIMIZER,
    RATES,
    DeferredHooks,
    Note,
)
from sonde.hook.torch.loop.device_phases import Marks
from sonde.hook.torch.loop.gradient_scaler import GradientScalers
from sonde.hook.torch.loop.losses import ACCUMULATES, Losses, divisor_of, operation_of
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.loop.optimizers import Optimizers, parameters_of
from sonde.hook.torch.loop.other_threads import OtherThreads
from sonde.hook.torch.loop.step_hooks import StepHooks
from sonde.hook.torch.loop.unstepped import Unstepped
from sonde.hook.torch.patching.names import Names
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.host_numbers import number_in
from sonde.hook.torch.tensors.weight_changes import WeightChanges
from sonde.records.step import Phase

_BACKWARD, _OPTIMIZER = Phase.BACKWARD.value, Phase.OPTIMIZER.value
_MAX_LOSS = sys.float_info.max  # of finite numbers


class UpdateListener(Protocol):
    """Somebody who looks at gradients and weights right before an optimizer uses them."""

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """All gradients of the step are there; nothing was updated yet."""


class Watch(NamedTuple):
    """The parts that see a training loop together."""

    session: Session
    deferred: DeferredHooks
    modules: Modules
    names: Names
    losses: Losses
    marks: Marks


class TrainingLoop:
    """Tells the session's steps what the loop does."""

    def __init__(self, watch: Watch) -> None:
        session = watch.session
        self._deferred = watch.deferred
        self._session = session
        self._steps = session.steps
        self._modules = watch.modules
        self._names = watch.names
        self._losses = watch.losses
        self._marks = watch.marks
        self._stepping: int | None = None  # the optimizer that steps just now
        self._start_ns = 0
        self._in_closure = 0  # calls of an optimizer's closure that are over
        self._has_closure = False
        self._is_in_backward = False
        self._is_cleared = False  # after a backward pass, and nothing has followed yet
        self.was_cleared = False  # right before the step under way
        self._backwards = 0  # since an optimizer has stepped
        self._has_passes = False  # several of them in the step before
        self._weights = WeightChanges()
        self._sites = CallSites()
        self._unstepped = Unstepped(session)
        self._has_stepped = False  # some optimizer, in the thread that is recorded
        self._other_threads = OtherThreads(session)
        self._handles: list[Any] = []
        self._named: dict[int, tuple[int, int]] = {}  # optimizers whose parameters have names
        self.optimizers = Optimizers(session.guard.shield("optimizers", self._made, None))
        self._by_backward = BackwardSteps(
            session, watch.modules, watch.names, watch.losses, self.optimizers
        )
        self._listeners: list[Callable[..., None]] = []
        # told the roots of a pass before it changes any gradient
        self.at_backward: list[Callable[[Any], None]] = []
        self.after_backward: list[Callable[[], None]] = []
        self.loss_kinds: set[str] = set()  # others are watched closely

    def attach(self, patches: Patches) -> None:
        """Sees backward passes and optimizer steps."""
        self.optimizers.attach(patches)
        self._unstepped.attach(patches)
        patches.wrap(torch.autograd, "backward", self._backward)
        for owner in (Optimizer, torch.nn.Module):
            patches.wrap(owner, "zero_grad", self._zeroing, is_removable=True)
        self._deferred.readers |= self._readers()
        self._deferred.rest.follow(self.optimizers, self._losses, self.loss_kinds)
        scalers = (self._session, self._losses, lambda: self._start_ns, self._step_skipped)
        GradientScalers(*scalers).attach(patches)
        pre_hook, post_hook = self._before_steps(), self._after_steps()
        skip_in_compiler(pre_hook)
        skip_in_compiler(post_hook)
        self._handles = [step_hooks.register_optimizer_step_pre_hook(pre_hook)]
        self._handles.append(step_hooks.register_optimizer_step_post_hook(post_hook))
        self._deferred.rest.removable.append(
            StepHooks(self._handles, self._deferred.rest.counting())
        )

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
                deferred.step_over(end_ns)
            else:
                after(optimizer)

        return post_hook

    def listen(self, task: str, listener: UpdateListener, *, needs_optimizer: bool = True) -> None:
        """Tells somebody before every update; who fails is told no more, and steps count on."""
        before_update = self._session.guard.shield(task, listener.before_update, None)
        self._listeners.append(before_update)
        if not needs_optimizer:
            self._by_backward.listeners.append(before_update)

    def detach(self) -> None:
        """Takes the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _made(self, optimizer: Optimizer) -> None:
        if self._session.state.has_notes and self._session.thread.is_current():
            self._session.state.catch_up()
        self.optimizers.number_of(optimizer)
        if self._session.thread.is_current():
            self._steps.optimizer_made()
        self._weights.follow(optimizer)
        self._modules.refresh()
        self._modules.owned.update(id(parameter) for parameter in parameters_of(optimizer))

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        begins = self._session.hook("backward passes", self._backward_begins, None)
        ends = self._session.hook("backward passes", self._backward_ends, None)
        deferred, get_ident = self._deferred, threading.get_ident
        current = deferred.current
        kinds, losses = self.loss_kinds, self._losses

        def noted(args: tuple[Any, ...]) -> tuple[float, Any] | None:
            if not (deferred.is_on and args and get_ident() == deferred.thread_id):
                return None
            value = number_in(args[0])
            if value is None or not abs(value) <= min(losses.limit, _MAX_LOSS):
                current.report_bad_loss()
                return None
            if operation_of(args[0]) not in kinds:
                return None
            origin = (divisor_of(args[0]), self._call_site() if self._has_passes else ())
            current.depth, current.is_in_backward, current.inputs = 0, True, []
            self._weights.backward_begins()
            return value, origin

        skip_in_compiler(noted)
        now_ns = self._session.clock.now_ns
        awake = watched_backward(original, deferred, now_ns, noted, (begins, ends))
        return deferred.rest.losses.around(original, hidden_from_warnings(awake))

    def _zeroing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A loop that leaves a batch out throws its gradients away: that was no micro-step."""
        is_compiling, deferred, state = (
            torch.compiler.is_compiling,
            self._deferred,
            self._session.state,
        )
        cleared = self._session.hook("gradients thrown away", self._clear, None)

        def zero_grad(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if state.is_resting:
                return result
            if not is_compiling() and (self._backwards or deferred.ends_with(BACKWARD)):
                cleared()
            return result

        return zero_grad

    def _clear(self) -> None:
        is_between = self._stepping is None and not self._is_in_backward
        if is_between:
            self._losses.gradients_cleared()
        elif self._has_closure:  # the passes before count, not those at weights further on
            self._in_closure = max(1, self._in_closure)
        is_own = is_between and not self._steps.is_explicit
        is_unused = is_own and not self._weights.gradients_cleared()
        self._is_cleared = is_unused and self.optimizers.alive == 1

    def _discard(self) -> None:
        """Another backward pass begins where gradients were thrown away: no step used them."""
        self._is_cleared = False
        self._backwards = 0
        self._losses.discard()
        self._steps.discard_micro_steps()

    def _readers(self) -> dict[int, Callable[[Note], None]]:
        """What hooks would have told, had they not left notes."""
        return {
            DATA_WAIT: lambda note: self._steps.data_wait(note[1], is_exhausted=note[3]),
            FORWARD: lambda note: self._steps.forward(note[1], Pass.TRAIN),
            BACKWARD: self._read_backward,
            OPTIMIZER: self._read_step,
            RATES: self._read_rates,
        }

    def _read_backward(self, note: Note) -> None:
        _, start_ns, _, value, (divisor, site) = note
        self._losses.deferred_root(value, divisor, site)
        self._backwards += 1
        self._steps.backward(start_ns)
        self._unstepped.computed()

    def _read_step(self, note: Note) -> None:
        _, self._start_ns, _, number, _ = note
        self._steps.optimizer_begins(number)
        self._stepped(number, self._start_ns)

    def _stepped(self, number: int, start_ns: int, *, is_skipped: bool = False) -> None:
        """An optimizer has stepped, or was kept from it."""
        self._has_passes, self._backwards = self._backwards > 1, 0
        self._weights.optimizer_stepped()
        self._steps.join_backwards(self._losses.optimizer_stepped(number))
        self._steps.optimizer_ends(number, start_ns, is_skipped=is_skipped)

    def _call_site(self) -> Chain:
        """Where backward is called."""
        for model in self._modules.roots:
            if vars(model).get("require_backward_grad_sync") is False:
                return ACCUMULATES
        return self._sites.chain()

    def _read_rates(self, note: Note) -> None:
        for group, rate in enumerate(note[3]):
            self._session.recorder.scalar(f"learning_rate/{group}", rate)

    def _backward_begins(self, tensors: Any) -> None:
        self._modules.passes.forget_calls()
        self._by_backward.backward_begins(tensors)
        if self._is_cleared:
            self._discard()
        if self._is_in_backward:  # the one before has raised
            self._losses.forget_last()
        self._is_in_backward = True
        for listener in self.at_backward:
            listener(tensors)
        self._weights.backward_begins()
        if not self._is_further_on():
            self._losses.root(tensors, self._call_site())
        self._marks.begin(_BACKWARD)

    def _backward_ends(self, start_ns: int) -> None:
        self._is_in_backward = False
        for listener in self.after_backward:
            listener()
        self._marks.end(_BACKWARD)
        if self._is_further_on():
            self._steps.span(_BACKWARD, start_ns)
        else:
            self._backwards += 1
            self._steps.backward(start_ns)
        self._by_backward.backward_ends()
        if self._stepping is None:
            self._unstepped.computed()

    def _is_further_on(self) -> bool:
        """Whether the step under way has its loss: what follows is computed at other weights."""
        return self._weights.is_ahead or (self._in_closure > 0 and self._stepping is not None)

    def _before_step(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        number = self.optimizers.number_of(optimizer)
        if self._stepping is not None and self._stepping != number and self._is_nested():
            return None
        self.was_cleared, self._is_cleared = self._is_cleared, False
        self._by_backward.optimizer_steps()
        self._has_stepped = True
        self._modules.refresh()
        self._modules.watch_uncalled()
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
        inspect = self._session.hook("optimizer steps", self._look, None)
        is_inspected = False

        def watched() -> Any:
            nonlocal is_inspected
            try:
                result = closure()
            except BaseException as error:
                drop_frame(error)
                raise
            self._in_closure += 1
            if not is_inspected:
                is_inspected = True
                inspect(optimizer, number)
            return result

        return hidden_from_warnings(watched)

    def _look(self, optimizer: Optimizer, number: int) -> None:
        size = sum(len(group["params"]) for group in optimizer.param_groups)
        signature = (size, self._modules.made)
        if self._named.get(number) != signature:
            self._named[number] = signature
            self._names.learn(self._modules.roots)
            self._names.adopt(optimizer, number)
        for before_update in self._listeners:
            before_update(optimizer, number)

    def _after_step(self, optimizer: Optimizer) -> None:
        number = self.optimizers.number_of(optimizer)
        if self._stepping != number:
            return
        has_closure = self._has_closure
        self._stepping, self._has_closure = None, False
        self._marks.end(_OPTIMIZER)
        is_finite = self._losses.non_finite is None
        backwards = self._backwards
        self._stepped(number, self._start_ns)
        if is_finite:
            is_plain = not (has_closure or self._losses.is_adjusted) and self._steps.is_plain
            self._deferred.inspected(optimizer, number, is_plain, backwards)

    def _step_skipped(self, optimizer: Optimizer, start_ns: int) -> None:
        number = self.optimizers.number_of(optimizer)
        self._steps.optimizer_begins(number)
        self._stepped(number, start_ns, is_skipped=True)
