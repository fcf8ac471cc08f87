"""The models of a script: found as they are made, and watched at their outermost call."""

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
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
from sonde.hook.torch.loop.inner_models import has_gradients, is_compiled, with_inner_models
from sonde.hook.torch.patching.hooks import After, Before, Hooks
from sonde.hook.torch.patching.identities import IdentitySet
from sonde.hook.torch.patching.names import Names, outermost
from sonde.hook.torch.patching.patches import Patches, call_before
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.host_numbers import number_in
from sonde.records.step import Phase

Begins = Callable[[ForwardPass, nn.Module, tuple[Any, ...], dict[str, Any]], None]
Ends = Callable[[ForwardPass, nn.Module, Any], None]

_LOSS_MODULE = "torch.nn.modules.loss"
_MAX_DESCENTS = 3
_COMPILED = "_compiled_call_impl"  # what a module calls that was compiled in place


class Modules:
    """All modules that exist, the outermost ones, and what their forward passes are for."""

    def __init__(
        self, session: Session, names: Names, marks: Marks, deferred: DeferredHooks, hooks: Hooks
    ) -> None:
        self._session = session
        self._names = names
        self._marks = marks
        self.deferred = deferred
        self._all: IdentitySet[nn.Module] = IdentitySet()
        self._fresh: IdentitySet[nn.Module] = IdentitySet()  # made since the last look
        self.made = 0  # looks at which there were new ones
        self._made_before = -1
        self._roots: list[weakref.ref[nn.Module]] = []
        self._watched: IdentitySet[nn.Module] = IdentitySet()
        self._loaded: IdentitySet[nn.Module] = IdentitySet()  # with weights from elsewhere
        self._calls: list[tuple[int, int]] = []  # modules whose outermost pass is under way
        self._at_begin: list[Begins] = []
        self._at_end: list[Ends] = []
        self._called: set[int] = set()
        self._descents = 0  # looks for models that are used through their parts
        self.hooks = hooks
        self.latest: ForwardPass | None = None  # the pass under way, or the one before
        # told of passes of evaluations that were noted, with the losses that were seen inside
        self.at_evaluation: list[Callable[[ForwardPass, list[tuple[str, float]]], None]] = []
        self.owned: set[int] = set()  # parameters that some optimizer trains
        self.on_found: list[Callable[[list[nn.Module]], None]] = []

    def attach(self, patches: Patches) -> None:
        """Sees every module that is made from now on."""
        patches.wrap(nn.Module, "__init__", self._noting)
        patches.wrap(nn.Module, "__setstate__", self._noting)
        patches.wrap(nn.Module, "compile", self._compiling)
        patches.wrap(nn.Module, "eval", self._evaluating)
        patches.wrap(nn.Module, "load_state_dict", self._loading)
        self.deferred.readers[EVALUATION] = self._read_evaluation
        self.hooks.attach(patches)

    def adopt(self, modules: Iterable[nn.Module]) -> None:
        """Takes modules that were made before us."""
        self._all.update(modules)
        self.made += 1

    def detach(self) -> None:
        """Takes all hooks away."""
        self.hooks.remove()
        self._watched.clear()
        self._made_before = -1

    @property
    def roots(self) -> list[nn.Module]:
        """The outermost modules that still exist."""
        return [root for reference in self._roots if (root := reference()) is not None]

    @property
    def watched(self) -> list[nn.Module]:
        """The modules whose outermost calls are seen."""
        return list(self._watched)

    def refresh(self) -> None:
        """Inspections for new outermost modules, if any module was made since the last look."""
        if self._fresh:
            self.made += any(_may_be_model(module) for module in self._fresh)
            self._fresh.clear()
        if self.made == self._made_before:
            return
        self._made_before = self.made
        roots = outermost(self._all)
        self._roots = [weakref.ref(root) for root in roots]
        self._names.learn(roots)
        self._descents = _MAX_DESCENTS
        for root in roots:
            for module in with_inner_models(root):
                self._watch(module)
        for listener in self.on_found:
            listener(roots)

    def watch_uncalled(self) -> None:
        """Watches what lies inside models that train but are never called, such as agents.

        Called right before an optimizer steps: a model whose parameters have gradients and which
        nobody has called was used through its parts.
        """
        if not self._descents or is_compiled():
            return
        self._descents -= 1
        for root in self.roots:
            if has_gradients(root):
                self._descend(root)

    def _descend(self, module: nn.Module) -> None:
        if id(module) in self._called:
            return
        for child in module.children():
            if child in self._watched:
                self._descend(child)
            else:
                self._watch(child)

    def listen(self, task: str, begins: Begins | None = None, ends: Ends | None = None) -> None:
        """Tells somebody when an outermost pass begins and ends."""
        shield = self._session.guard.shield
        if begins is not None:
            self._at_begin.append(shield(task, begins, None))
        if ends is not None:
            self._at_end.append(shield(task, ends, None))

    def as_pass(
        self, function: Callable[..., Any], module_of: Callable[[Any], nn.Module]
    ) -> Callable[..., Any]:
        """A function as the outermost pass of a module that is never called itself."""
        begins, ends = self._begins_and_ends()
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

    def are_loaded(self, parameters: Iterable[Tensor]) -> bool:
        """Whether any of these have come from elsewhere: they were trained before."""
        inside = {
            id(parameter)
            for root in self.roots
            for parameter in _loaded_parameters(root, self._loaded)
        }
        return any(id(parameter) in inside for parameter in parameters)

    @property
    def is_running(self) -> bool:
        """Whether an outermost pass is under way."""
        return bool(self._calls)

    def forget_calls(self) -> None:
        """A pass that raised has never ended."""
        self._calls.clear()

    def _noting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling, all_modules, new_modules = torch.compiler.is_compiling, self._all, self._fresh
        skip_in_compiler(all_modules.add, with_callees=True)

        def tracked(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            try:
                result = original(module, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if not is_compiling():
                all_modules.add(module)
                new_modules.add(module)
            return result

        return tracked

    def _watch(self, module: nn.Module) -> None:
        has_parameters = any(True for _ in module.parameters())
        if module in self._watched or not has_parameters:
            return
        self._watched.add(module)
        begins, ends = self._begins_and_ends()
        self.hooks.put(module, self._before(begins), self._after(ends))

    def _before(self, begins: Callable[..., None]) -> Before:
        is_compiling, has_gradients = torch.compiler.is_compiling, torch.is_grad_enabled
        deferred, now_ns, get_ident = self.deferred, self._session.clock.now_ns, threading.get_ident
        is_trained, feeds, current = self.is_trained, deferred.feeds, deferred.current

        def before(watched: nn.Module, args: Any, kwargs: Any) -> None:
            # in a compiled region this is known when it is traced, and nothing of us is left
            if is_compiling():
                return
            if deferred.is_on and get_ident() == deferred.thread_id:
                if current.is_in_backward:
                    return
                if has_gradients():
                    is_noted = watched.training
                else:
                    is_noted = (
                        not watched.training and deferred.may_evaluate and is_trained(watched)
                    )
                if is_noted:
                    # the same one inside of itself: the earlier pass has raised
                    if not current.depth or id(watched) == current.outermost:
                        current.depth, current.inner_losses, current.outermost = 0, [], id(watched)
                        current.inputs = references(enumerate(args))
                        current.start_ns, current.is_evaluating = now_ns(), not watched.training
                        is_training = watched.training
                        feeds.latest.is_training |= is_training
                        feeds.trainings += is_training
                        feeds.batch = is_training or feeds.batch_of(watched, args, kwargs)
                        current.on_begin(is_training, args, kwargs)
                    current.depth += 1
                    return
            begins(watched, args, kwargs)

        return before

    def _after(self, ends: Callable[..., None]) -> After:
        is_compiling = torch.compiler.is_compiling
        deferred, now_ns, get_ident = self.deferred, self._session.clock.now_ns, threading.get_ident
        output_loss = self._session.guard.shield("losses of evaluations", loss_in, None)
        current, feeds = deferred.current, deferred.feeds

        def after(watched: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
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
                ends(watched, output)

        return after

    def _begins_and_ends(self) -> tuple[Callable[..., None], Callable[..., None]]:
        hook, skips = self._session.hook, Resting.SKIPS
        begins = hook("forward passes", self._begins, None, skips)
        skip_in_compiler(begins, with_callees=True)  # and with it all hooks: they share their code
        return begins, hook("forward passes", self._ends, None, skips)

    def _evaluating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A script that never trains says at least so much before it begins."""
        refresh = self._session.guard.shield("modules", self.refresh, None)
        wake = self._session.guard.shield("notes", self.deferred.rest.evaluates, None)
        is_compiling, state = torch.compiler.is_compiling, self._session.state

        def switch_to_eval(module: nn.Module) -> Any:
            try:
                if state.is_resting:
                    if module.training:
                        wake()
                    return original(module)
                result = original(module)
                if not is_compiling():
                    refresh()
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        return switch_to_eval

    def _loading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        before_load = self._session.guard.shield("modules", self._loaded.add, None)
        return call_before(original, before_load)

    def _compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A module that is compiled in place takes its hooks along into the compiled region."""
        give_up_resting = self._session.guard.shield("compiler", self.deferred.rest.give_up, None)

        def compile_in_place(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            give_up_resting()
            try:
                result = original(module, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            compiled = vars(module).get(_COMPILED)
            if compiled is not None:
                vars(module)[_COMPILED] = self._around(module, compiled)
            return result

        return compile_in_place

    def _around(self, module: nn.Module, compiled: Callable[..., Any]) -> Callable[..., Any]:
        begins, ends = self._begins_and_ends()
        is_compiling, watched, reference = (
            torch.compiler.is_compiling,
            self._watched,
            weakref.ref(module),
        )

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                if is_compiling() or (called := reference()) not in watched:
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
            return  # a backward pass computes something again, or nothing is computed at all
        if self._calls and any(running == id(module) for running, _ in self._calls):
            self._calls.clear()  # the earlier pass has raised
        is_outermost = not self._calls
        if is_outermost:
            self._marks.begin(Phase.FORWARD.value)
        self._calls.append((id(module), self._session.clock.now_ns()))
        self._called.add(id(module))
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

    def is_trained(self, module: nn.Module) -> bool:
        """Whether an optimizer owns any of its parameters."""
        return any(id(parameter) in self.owned for parameter in module.parameters())

    def _read_evaluation(self, note: Note) -> None:
        """What hooks would have told of a pass of an evaluation, had they not left a note."""
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
        is_sure = not (has_gradients or module.training) and self.is_trained(module)
        return Pass.EVAL if is_sure else Pass.UNDECIDED


def _loaded_parameters(root: nn.Module, loaded: IdentitySet[nn.Module]) -> Iterator[Tensor]:
    """Parameters that were loaded; Transformers says by a name where those of a model are from."""
    for module in root.modules():
        if module in loaded or bool(getattr(module, "name_or_path", None)):
            yield from module.parameters()


def _may_be_model(module: nn.Module) -> bool:
    """Whether a module may be a part of a model; some scripts make a loss for every step."""
    return type(module).__module__ != _LOSS_MODULE


def loss_in(output: Any) -> float | None:
    """What a model returns as its loss, while it is evaluated on the processor."""
    is_table = isinstance(output, dict)
    return number_in(output.get("loss") if is_table else getattr(output, "loss", None))
