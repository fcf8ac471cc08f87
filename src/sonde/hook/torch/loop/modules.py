"""The modules of a script: tracked from their creation, with hooks on the outermost ones."""

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.loop.deferred_hooks import (
    DeferredHooks,
)
from sonde.hook.torch.loop.device_phases import Marks
from sonde.hook.torch.loop.inner_models import has_gradients, is_compiled, with_inner_models
from sonde.hook.torch.loop.pass_hooks import PassHooks
from sonde.hook.torch.patching.hooks import Hooks
from sonde.hook.torch.patching.identities import IdentitySet
from sonde.hook.torch.patching.names import Names, outermost
from sonde.hook.torch.patching.patches import Patches, call_before
from sonde.hook.torch.patching.uncompiled import skip_in_compiler

_LOSS_MODULE = "torch.nn.modules.loss"
_MAX_DESCENTS = 3
_COMPILED = "_compiled_call_impl"  # attribute with the call of a module compiled in place


class Modules:
    """All existing modules, the outermost ones, and the parameters that optimizers train."""

    def __init__(
        self, session: Session, names: Names, marks: Marks, deferred: DeferredHooks, hooks: Hooks
    ) -> None:
        self._session = session
        self._names = names
        self.deferred = deferred
        self.passes = PassHooks(session, marks, deferred, self.is_trained)
        self._all: IdentitySet[nn.Module] = IdentitySet()
        self._new: IdentitySet[nn.Module] = IdentitySet()  # since the last refresh
        self.made = 0  # number of refreshes that found new modules
        self._made_before = -1
        self._roots: list[weakref.ref[nn.Module]] = []
        self._hooked: IdentitySet[nn.Module] = IdentitySet()
        self._loaded: IdentitySet[nn.Module] = IdentitySet()  # modules with loaded weights
        self._descents = 0  # remaining searches for models used through their submodules
        self.hooks = hooks
        self.owned: set[int] = set()  # identities of parameters that an optimizer trains
        self.on_found: list[Callable[[list[nn.Module]], None]] = []  # called with new roots

    def attach(self, patches: Patches) -> None:
        """Track every module created from now on."""
        patches.wrap(nn.Module, "__init__", self._wrap_creation)
        patches.wrap(nn.Module, "__setstate__", self._wrap_creation)
        patches.wrap(nn.Module, "compile", self._wrap_compile)
        patches.wrap(nn.Module, "eval", self._wrap_eval)
        patches.wrap(nn.Module, "load_state_dict", self._wrap_load)
        self.hooks.attach(patches)

    def adopt(self, modules: Iterable[nn.Module]) -> None:
        """Track modules created before the hook was attached."""
        self._all.update(modules)
        self.made += 1

    def detach(self) -> None:
        """Remove all hooks."""
        self.hooks.remove()
        self._hooked.clear()
        self._made_before = -1

    @property
    def roots(self) -> list[nn.Module]:
        """The outermost modules that still exist."""
        return [root for reference in self._roots if (root := reference()) is not None]

    @property
    def hooked(self) -> list[nn.Module]:
        """The modules with pass hooks."""
        return list(self._hooked)

    def refresh(self) -> None:
        """Hook new outermost modules, if any module was created since the last refresh."""
        if self._new:
            self.made += any(_may_be_model(module) for module in self._new)
            self._new.clear()
        if self.made == self._made_before:
            return
        self._made_before = self.made
        roots = outermost(self._all)
        self._roots = [weakref.ref(root) for root in roots]
        self._names.learn(roots)
        self._descents = _MAX_DESCENTS
        for root in roots:
            for module in with_inner_models(root):
                self._put_hooks(module)
        for listener in self.on_found:
            listener(roots)

    def hook_uncalled(self) -> None:
        """Hook the submodules of models that train but are never called, such as agents.

        Called right before an optimizer step: a model with gradients that was not called must
        have been used through its submodules.
        """
        if not self._descents or is_compiled() or not self._session.thread.is_alone:
            return
        self._descents -= 1
        for root in self.roots:
            if has_gradients(root):
                self._descend(root)

    def _descend(self, module: nn.Module) -> None:
        if id(module) in self.passes.called:
            return
        for child in module.children():
            if child in self._hooked:
                self._descend(child)
            else:
                self._put_hooks(child)

    def are_loaded(self, parameters: Iterable[Tensor]) -> bool:
        """Whether any of these parameters were loaded, such as from a checkpoint."""
        inside = {
            id(parameter)
            for root in self.roots
            for parameter in _loaded_parameters(root, self._loaded)
        }
        return any(id(parameter) in inside for parameter in parameters)

    def _wrap_creation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling, all_modules, new_modules = torch.compiler.is_compiling, self._all, self._new
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

    def _put_hooks(self, module: nn.Module) -> None:
        has_parameters = any(True for _ in module.parameters())
        if module in self._hooked or not has_parameters:
            return
        self._hooked.add(module)
        begins, ends = self.passes.begins_and_ends()
        self.hooks.put(module, self.passes.before(begins), self.passes.after(ends))

    def _wrap_eval(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `eval` to wake resting hooks, and to find models that are never trained."""
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

    def _wrap_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        before_load = self._session.guard.shield("modules", self._loaded.add, None)
        return call_before(original, before_load)

    def _wrap_compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap compiled calls: a module compiled in place compiles its hooks, too."""
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
                vars(module)[_COMPILED] = self.passes.wrap_compiled_call(
                    module, compiled, self._hooked
                )
            return result

        return compile_in_place

    def is_trained(self, module: nn.Module) -> bool:
        """Whether an optimizer owns any parameter of a module."""
        return any(id(parameter) in self.owned for parameter in module.parameters())


def _loaded_parameters(root: nn.Module, loaded: IdentitySet[nn.Module]) -> Iterator[Tensor]:
    """Loaded parameters below a root; Transformers models have `name_or_path` if loaded."""
    for module in root.modules():
        if module in loaded or bool(getattr(module, "name_or_path", None)):
            yield from module.parameters()


def _may_be_model(module: nn.Module) -> bool:
    """Whether a module may belong to a model, unlike a loss, which scripts may create per step."""
    return type(module).__module__ != _LOSS_MODULE
