"""Base of adapters for training loops built on PyTorch: adds what the PyTorch adapter misses."""

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
    """Reports how a training loop scales losses, evaluates, logs and saves checkpoints."""

    package = ""  # the module that the script imports
    version_in = ""  # the module that defines the version, if it is a different one
    source = ""  # the recorded source of logged numbers

    def __init__(self) -> None:
        self._patches = Patches()

    def attach(self, session: Session) -> None:
        """Install the hooks, in addition to those of the PyTorch adapter."""
        torch = session.frameworks.adapters.get("torch")
        if not isinstance(torch, PyTorch):
            raise TypeError("the PyTorch adapter is not attached")
        self._session = session
        self._torch = torch
        module = import_module(self.version_in or self.package)
        session.frameworks.add_versions(**{self.package: str(module.__version__)})
        skips = Resting.SKIPS
        self._note = session.hook(self.package, self._record, None, Resting.FLUSHES)
        self._announce_division = session.hook(
            "losses", torch.losses.announce_division, False, skips
        )
        self._end_division = session.hook("losses", torch.losses.end_division, None, skips)
        self._force = session.hook("modes", session.steps.force, None)
        self._wrap(self._patches)

    def detach(self) -> None:
        """Remove the hooks."""
        self._patches.undo()

    @abstractmethod
    def _wrap(self, patches: Patches) -> None:
        """Wrap the functions of the loop."""

    def _in_mode(self, mode: Mode) -> Callable[[Function], Function]:
        """Make a wrapper that sets the mode of all passes in a function."""

        def make(original: Function) -> Function:
            def call(*args: Any, **kwargs: Any) -> Any:
                previous = self._force(mode.value)
                try:
                    return original(*args, **kwargs)
                except BaseException as error:
                    drop_frame(error)
                    raise
                finally:
                    self._force(previous)

            return call

        return make

    def _as_evaluation(
        self,
        title_of: Callable[..., str],
        metrics_of: Callable[[Any, Any], Sequence[Mapping[str, Any]]],
    ) -> Callable[[Function], Function]:
        """Make a wrapper for a function that runs a named evaluation and returns its metrics.

        Args:
            title_of: Returns the name of the evaluation, given the arguments of the call.
            metrics_of: Returns the metrics of each data set, given the owner of the function and
                its result.
        """
        hook, evaluations = self._session.hook, self._torch.evaluations
        set_title = hook("evaluations", evaluations.set_title, "")
        begins = hook(
            "evaluations", lambda args, kwargs: evaluations.set_title(title_of(*args, **kwargs)), ""
        )
        ends = hook(
            "evaluations", lambda owner, result: evaluations.report(metrics_of(owner, result)), None
        )

        def make(original: Function) -> Function:
            def call(*args: Any, **kwargs: Any) -> Any:
                previous = begins(args, kwargs)
                try:
                    result = original(*args, **kwargs)
                    ends(args[0], result)
                    return result
                except BaseException as error:
                    drop_frame(error)
                    raise
                finally:
                    set_title(previous)

            return call

        return make

    def _as_checkpoint(self, original: Function) -> Function:
        """Wrap a function that writes a checkpoint."""
        return self._torch.waiting.timed(original, Phase.CHECKPOINT)

    def _record(self, numbers: Mapping[str, Any]) -> None:
        """Record numbers that the loop logs for the step that has just ended."""
        at = self._session.steps.latest
        for name, value in numbers.items():
            if not isinstance(value, str):
                record_number(self._session, str(name), value, self.source, at)
