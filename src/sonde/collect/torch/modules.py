"""The models of a script: found as they are made, and watched at their outermost call."""

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from sonde.collect.session import Session
from sonde.collect.steps import Pass
from sonde.collect.torch.marks import Marks
from sonde.collect.torch.names import Names, outermost, wrapped_by
from sonde.collect.torch.patches import Patches
from sonde.records.step import Phase

ForwardListener = Callable[[nn.Module, tuple[Any, ...], Any, bool], None]


class Modules:
    """All modules that exist, the outermost ones, and what their forward passes are for."""

    def __init__(self, session: Session, names: Names, marks: Marks) -> None:
        self._session = session
        self._names = names
        self._marks = marks
        self._all: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self.made = 0  # modules that were made so far
        self._made_before = -1
        self._roots: list[weakref.ref[nn.Module]] = []
        self._watched: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._handles: list[Any] = []
        self._calls: list[tuple[int, int]] = []  # modules whose outermost pass is under way
        self.owned: set[int] = set()  # parameters that some optimizer trains
        self.listeners: list[ForwardListener] = []
        self.on_found: list[Callable[[list[nn.Module]], None]] = []

    def attach(self, patches: Patches) -> None:
        """Sees every module that is made from now on."""
        patches.wrap(nn.Module, "__init__", self._noting)
        patches.wrap(nn.Module, "__setstate__", self._noting)

    def adopt(self, modules: Iterable[nn.Module]) -> None:
        """Takes modules that were made before us."""
        self._all.update(modules)
        self.made += 1

    def detach(self) -> None:
        """Takes all hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._watched.clear()
        self._made_before = -1

    @property
    def roots(self) -> list[nn.Module]:
        """The outermost modules that still exist."""
        return [root for one in self._roots if (root := one()) is not None]

    def refresh(self) -> None:
        """Looks for new outermost modules, if any module was made since the last look."""
        if self.made == self._made_before:
            return
        self._made_before = self.made
        roots = outermost(self._all)
        self._roots = [weakref.ref(root) for root in roots]
        self._names.learn(roots)
        for root in roots:
            module: nn.Module | None = root
            while module is not None:
                self._watch(module)
                module = wrapped_by(module)
        for listener in self.on_found:
            listener(roots)

    def forget_calls(self) -> None:
        """A pass that raised has never ended."""
        self._calls.clear()

    def _noting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling, known = torch.compiler.is_compiling, self._all

        def noted(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            result = original(module, *args, **kwargs)
            if not is_compiling():
                known.add(module)
                self.made += 1
            return result

        return noted

    def _watch(self, module: nn.Module) -> None:
        has_parameters = any(True for _ in module.parameters())
        if module in self._watched or not has_parameters:
            return
        self._watched.add(module)
        begins = self._session.hook("forward passes", self._begins, None)
        ends = self._session.hook("forward passes", self._ends, None)
        is_compiling = torch.compiler.is_compiling

        def before(watched: nn.Module, _args: Any) -> None:
            # in a compiled region this is known when it is traced, and nothing of us is left
            if not is_compiling():
                begins(watched)

        def after(watched: nn.Module, args: Any, output: Any) -> None:
            if not is_compiling():
                ends(watched, args, output)

        self._handles.append(module.register_forward_pre_hook(before))
        self._handles.append(module.register_forward_hook(after))

    def _begins(self, module: nn.Module) -> None:
        if any(running == id(module) for running, _ in self._calls):
            self._calls.clear()  # the earlier pass has raised
        if not self._calls:
            self._marks.begin(Phase.FORWARD.value)
        self._calls.append((id(module), self._session.clock.now_ns()))

    def _ends(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        while self._calls and self._calls[-1][0] != id(module):
            self._calls.pop()
        if not self._calls:
            return
        _, start_ns = self._calls.pop()
        if self._calls:
            return
        self._marks.end(Phase.FORWARD.value)
        kind = self._kind(module)
        for listener in self.listeners:
            listener(module, args, output, kind is Pass.TRAIN)
        self._session.steps.forward(start_ns, kind)

    def _kind(self, module: nn.Module) -> Pass:
        has_gradients = torch.is_grad_enabled()
        if has_gradients and module.training:
            return Pass.TRAIN
        is_trained = any(id(parameter) in self.owned for parameter in module.parameters())
        is_sure = is_trained and not has_gradients and not module.training
        return Pass.EVAL if is_sure else Pass.UNDECIDED
