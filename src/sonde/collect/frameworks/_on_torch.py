"""Loops that are built on PyTorch: what its adapter cannot see without them."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sonde.collect.frameworks._adapter import Adapter
from sonde.collect.frameworks.torch import PyTorch
from sonde.collect.script import record_number
from sonde.collect.session import Session
from sonde.collect.torch.patches import Patches
from sonde.records.step import Mode, Phase

Function = Callable[..., Any]


class OnTorch(Adapter):
    """Knows what its loop divides, evaluates, logs and saves."""

    package = ""  # the module that has a version
    source = ""  # where its numbers come from

    def __init__(self) -> None:
        self._patches = Patches()

    def attach(self, session: Session) -> None:
        """Puts the hooks in place; PyTorch's own are there already."""
        torch = session.adapters.get("torch")
        if not isinstance(torch, PyTorch):
            raise TypeError("it is built on PyTorch, which is not watched")
        self._session = session
        self._torch = torch
        session.versions[self.package] = str(import_module(self.package).__version__)
        self._note = session.hook(self.package, self._record, None)
        self._divides = session.hook("losses", torch.losses.divides, default=False)
        self._undivided = session.hook("losses", torch.losses.undivided, None)
        self._force = session.hook("modes", session.steps.force, None)
        self._entitle = session.hook("evaluations", torch.evaluations.entitle, "")
        self._report = session.hook("evaluations", torch.evaluations.report, None)
        self._wrap(self._patches)

    def detach(self) -> None:
        """Takes them away."""
        self._patches.undo()

    @abstractmethod
    def _wrap(self, patches: Patches) -> None:
        """Replaces the functions of the loop."""

    def _in_mode(self, mode: Mode) -> Callable[[Function], Function]:
        """A function in which all passes are for one thing."""

        def make(original: Function) -> Function:
            def call(*args: Any, **kwargs: Any) -> Any:
                before = self._force(mode.value)
                try:
                    return original(*args, **kwargs)
                finally:
                    self._force(before)

            return call

        return make

    def _named(
        self, title_of: Callable[..., str], metrics_of: Callable[[Any], Mapping[str, Any]]
    ) -> Callable[[Function], Function]:
        """A function that runs an evaluation of a known name and returns its metrics.

        Args:
            title_of: The name, from the arguments of the call.
            metrics_of: The metrics, from its result.
        """

        def make(original: Function) -> Function:
            def call(*args: Any, **kwargs: Any) -> Any:
                before = self._entitle(title_of(*args, **kwargs))
                try:
                    result = original(*args, **kwargs)
                    self._report(metrics_of(result))
                    return result
                finally:
                    self._entitle(before)

            return call

        return make

    def _saves(self, original: Function) -> Function:
        """A function that writes a checkpoint."""
        return self._torch.waiting.timed(original, Phase.CHECKPOINT)

    def _record(self, numbers: Mapping[str, Any]) -> None:
        """Records what the loop logs, of the step that it has just made."""
        at = self._session.steps.latest
        for name, value in numbers.items():
            if not isinstance(value, str):
                record_number(self._session, str(name), value, self.source, at)
