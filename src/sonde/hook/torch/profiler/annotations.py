"""Annotates module calls with module names in a trace.

Hooks are not used: a region compiled while hooks exist is recompiled when they are removed, and
some modules take another code path when they have hooks.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._C import _get_tracing_state
from torch.autograd.profiler import record_function

from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.session import Session
from sonde.hook.torch.patching.names import Names, unwrapped
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.patching.uncompiled import skip_in_compiler

PREFIX = "sonde.module."
_WRAPPED_CALL = getattr(nn.Module, "_wrapped_call_impl", None)


class _Calls:
    """State of the module call wrapper.

    A region compiled while the wrapper is installed guards on the values that the wrapper reads.
    They live here, so that they remain when the wrapper is removed.
    """

    original: Callable[..., Any] = nn.Module.__call__
    is_kept = False  # another wrapper holds ours, so it stays installed
    begins: Callable[..., Any] = staticmethod(lambda _module: None)
    ends: Callable[..., Any] = staticmethod(lambda _annotation: None)


@hidden_from_warnings
def _annotated(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Call a module; the profiler's Python tracer reads the variable `self`."""
    # constant while tracing, so nothing of Sonde remains in compiled code
    if torch.compiler.is_compiling():
        return _Calls.original(self, *args, **kwargs)
    annotation = _Calls.begins(self)
    call: Any
    arguments: tuple[Any, ...]
    # replaces PyTorch's own wrapper frame, so that deep recursion needs no extra stack
    if _Calls.original is _WRAPPED_CALL and vars(self).get("_compiled_call_impl") is None:
        call, arguments = self._call_impl, args
    else:
        call, arguments = _Calls.original, (self, *args)
    try:
        return call(*arguments, **kwargs)
    except BaseException as error:
        drop_frame(error)
        raise
    finally:
        if annotation is not None:
            _Calls.ends(annotation)


class Annotations:
    """Annotates module calls outside compiled regions while enabled."""

    def __init__(self, session: Session, names: Names, on_call: Callable[[], bool]) -> None:
        """Prepare the hooks; `put` enables annotation.

        Args:
            session: The session of this process.
            names: Names of modules.
            on_call: Called before each module call; returns whether to annotate it.
        """
        self._names = names
        self._on_call = on_call
        self._is_on = False
        self._patches = Patches()
        self._begins = session.hook("annotations", self._begin, None)
        self._ends = session.hook("annotations", _end, None)
        # covers all hooks, which share one code object
        skip_in_compiler(self._begins, with_callees=True)

    def put(self) -> None:
        """Enable annotation; only one instance may be enabled at a time."""
        self._is_on = True
        _Calls.begins, _Calls.ends = self._begins, self._ends
        if not _Calls.is_kept:
            self._patches.wrap(nn.Module, "__call__", _wrap_call)

    def remove(self) -> None:
        """Disable annotation."""
        self._is_on = False
        self._patches.undo()
        _Calls.is_kept = nn.Module.__call__ is not _Calls.original

    def _begin(self, module: nn.Module) -> Any:
        if not self._is_on or _get_tracing_state() is not None or not self._on_call():
            return None
        # a compiled module is called through its wrapper
        name = self._names.module_name_of(unwrapped(module))
        if not name:
            return None
        annotation: Any = record_function(PREFIX + name)
        return annotation.__enter__()


def _wrap_call(original: Callable[..., Any]) -> Callable[..., Any]:
    _Calls.original = original
    return _annotated


def _end(annotation: record_function) -> None:
    annotation.__exit__(None, None, None)
