"""Compute and communication times measured by DistributedDataParallel."""

from collections.abc import Callable
from operator import methodcaller
from typing import Any
from weakref import WeakKeyDictionary

from torch.nn.parallel import DistributedDataParallel

from sonde.clock import NANOSECONDS
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.identities import IdentitySet
from sonde.hook.torch.patching.patches import Patches

_FIRST_STEPS = 11  # DDP measures its first ten iterations, then one in a hundred
_EVERY_STEPS = 50
_logging_data_of = methodcaller("_get_ddp_logging_data")

_NAMES = {
    "forward_compute_time": "ddp/forward_seconds",
    "backward_compute_time": "ddp/backward_seconds",
    "backward_comm_time": "ddp/communication_seconds",
    "backward_compute_comm_overlap_time": "ddp/overlap_seconds",
}


# modules that DDP has wrapped, including those whose wrapper is no longer used
ever_wrapped: IdentitySet[Any] = IdentitySet()


class DdpTimes:
    """Records the latest iteration measured by DDP; reading its statistics is cheap."""

    def __init__(self, session: Session, modules: Modules) -> None:
        self._session = session
        self._modules = modules
        self._recorded: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        session.listeners.on_step("communication", self._after_step)

    def attach(self, patches: Patches) -> None:
        """Track wrapped modules: a script may train the inner module by mistake."""
        patches.wrap(DistributedDataParallel, "__init__", _wrap_init)

    def _after_step(self, step: FinishedStep) -> None:
        is_due = step.number < _FIRST_STEPS or step.number % _EVERY_STEPS == _EVERY_STEPS - 1
        if step.mode == "train" and is_due:
            self._session.guard.call("DDP's times", lambda: self._record(step), None)

    def _record(self, step: FinishedStep) -> None:
        for module in self._modules.roots:
            if isinstance(module, DistributedDataParallel):
                measured: dict[str, Any] = _logging_data_of(module)
                if measured.get("iteration", 0) == self._recorded.get(module, 0):
                    continue
                self._recorded[module] = measured["iteration"]
                for key, name in _NAMES.items():
                    if measured.get(key):
                        seconds = measured[key] / NANOSECONDS
                        self._session.recorder.scalar(name, seconds, at=(step.mode, step.number))


def _wrap_init(original: Callable[..., Any]) -> Callable[..., Any]:
    def tracked(wrapper: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = original(wrapper, module, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        ever_wrapped.add(module)
        return result

    return tracked
