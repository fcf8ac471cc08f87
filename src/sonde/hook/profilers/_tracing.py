"""Access to PyTorch's profiler in processes that use PyTorch."""

from importlib import import_module
from typing import TYPE_CHECKING

from sonde.hook.session import Session
from sonde.records.profile import ProfileKind, Window

if TYPE_CHECKING:
    from sonde.hook.torch.profiler.trace_window import TraceWindow

NO_TORCH = "PyTorch is not recorded in this process"


def trace_window(session: Session, kind: ProfileKind) -> "TraceWindow | None":
    """The trace recorder, or None in a process without PyTorch."""
    if "torch" not in session.frameworks.adapters:
        return None
    module = import_module("sonde.hook.torch.profiler.trace_window")
    window: TraceWindow = module.TraceWindow(session, kind)
    return window


def is_set(window: Window, option: str, *, default: bool = False) -> bool:
    """Whether an option of a window is set."""
    return window.options.get(option, str(default).lower()) == "true"
