"""Loops that are built on PyTorch: what its adapter cannot see without them."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.overhead_account import Resting
from sonde.hook.script import record_number
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Mode, Phase

Function = Callable[..., Any]


class OnTorch(Adapter):
    """Knows what its loop divides, evaluates, logs and saves."""

    package = ""  # the module that the script imports
    version_in = ""  # the module that has its version, where that is another one
    source = ""  # where its numbers come from

    def __init__(self) -> None:
        self._patches = Patches()

    def attach(self, session: Session) -> None:
        """Puts the hooks in place; PyTorch's own are there already."""
        torch = session.frameworks.adapters.get("torch")
        if not isinstance(torch, PyTorch):
            raise TypeError("it is built on PyTorch, which is not watched")
        self._session = session
        self._torch = torch
        module = import_module(self.version_in or self.package)
        session.frameworks.add_versions(**{self.package: str(module.__version__)})
        skips = Resting.SKIPS
        self._note = session.hook(self.package, self._record, None, Resting.FLUSHES)
        self._divides = session.hook("losses", torch.losses.divides, False, skips)
        self._undivided = session.hook("losses", torch.losses.undivided, None, skips)
        self._force = session.hook("modes", session.steps.force, None)
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
                except BaseException as error:
                    drop_frame(error)
                    raise
                finally:
                    self._force(before)

            return call

        return make

    def _named(
        self,
        title_of: Callable[..., str],
        metrics_of: Callable[[Any, Any], Sequence[Mapping[str, Any]]],
    ) -> Callable[[Function], Function]:
        """A function that runs an evaluation of a known name and returns its metrics.

        Args:
            title_of: The name, from the arguments of the call.
            metrics_of: The metrics of each data set, from whose method it is and its result.
        """
        hook, evaluations = self._session.hook, self._torch.evaluations
        entitle = hook("evaluations", evaluations.entitle, "")
        begins = hook(
            "evaluations", lambda args, named: evaluations.entitle(title_of(*args, **named)), ""
        )
        ends = hook(
            "evaluations", lambda of, result: evaluations.report(metrics_of(of, result)), None
        )

        def make(original: Function) -> Function:
            def call(*args: Any, **kwargs: Any) -> Any:
                before = begins(args, kwargs)
                try:
                    result = original(*args, **kwargs)
                    ends(args[0], result)
                    return result
                except BaseException as error:
                    drop_frame(error)
                    raise
                finally:
                    entitle(before)

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
