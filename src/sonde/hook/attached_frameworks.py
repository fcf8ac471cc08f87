"""The frameworks whose adapters are attached in this process."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.hook.frameworks import Adapter
    from sonde.hook.steps import StepId
    from sonde.hook.tensors.tensor_recorder import TensorRecorder

Function = Callable[..., Any]


class AttachedFrameworks:
    """The attached adapters, and the functions that the training framework provides."""

    def __init__(self) -> None:
        self.adapters: dict[str, Adapter] = {}
        self.versions: dict[str, str] = {}
        self.name = ""  # of the framework that trains
        self.monitors_stalls = False
        self.tensors: TensorRecorder | None = None  # records what the script saves
        self._numbered_at: StepId | None = None  # the last step that the script numbered itself
        self.wrap_hook: Callable[[Function], Function] = _unchanged  # hides Sonde's operations
        self.find_device: Callable[[], str] = _cpu
        self.find_device_name: Callable[[], str] = _unknown
        self.may_begin: Callable[[], bool] = _always  # not in a process that only loads data

    def attach(self, name: str, adapter: "Adapter") -> None:
        """Register an adapter whose hooks are in place."""
        self.adapters[name] = adapter

    def describe(
        self,
        name: str,
        *,
        wrap_hook: Callable[[Function], Function],
        find_device: Callable[[], str],
        find_device_name: Callable[[], str],
        may_begin: Callable[[], bool],
    ) -> None:
        """Set the functions that the training framework provides."""
        self.name = name
        self.wrap_hook, self.may_begin = wrap_hook, may_begin
        self.find_device, self.find_device_name = find_device, find_device_name

    def add_versions(self, **versions: str) -> None:
        """Add package versions to the record of the worker."""
        self.versions |= versions

    def set_tensor_recorder(self, tensors: "TensorRecorder") -> None:
        """Set the recorder of tensors and numbers that a script passes in."""
        self.tensors = tensors

    def begin_numbered_step(self, at: "StepId") -> None:
        """Write the values of the previous step that the script numbered itself."""
        if at != self._numbered_at:
            self.write_held()
        self._numbered_at = at

    def write_held(self) -> None:
        """Write the values that wait for the end of their step."""
        if self.tensors is not None:
            self.tensors.write_held()


def _unchanged(hook: Function) -> Function:
    return hook


def _cpu() -> str:
    return "cpu"


def _unknown() -> str:
    return ""


def _always() -> bool:
    return True
