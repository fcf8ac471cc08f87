"""Names of modules around what they compute, as annotations in a trace.

Not by hooks: a region that is compiled while they are there is compiled again when they are gone,
and some modules take another way where they have any.
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
from sonde.hook.torch.patching.uncompiled import leave_alone

PREFIX = "sonde.module."
_WRAPPED_CALL = getattr(nn.Module, "_wrapped_call_impl", None)


class _Calls:
    """What happens around a call of a module.

    A region that is compiled meanwhile is bound to what our function looks up on its way into the
    region. So that is here, and stays when the function is gone.
    """

    original: Callable[..., Any] = nn.Module.__call__
    is_kept = False  # somebody has put a function of theirs around ours, which never goes then
    begins: Callable[..., Any] = staticmethod(lambda _module: None)
    ends: Callable[..., Any] = staticmethod(lambda _annotation: None)


@hidden_from_warnings
def _annotated(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """A call of a module; the profiler's own tracer of Python reads a variable of this name."""
    # in a compiled region this is known when it is traced, and nothing of us is left
    if torch.compiler.is_compiling():
        return _Calls.original(self, *args, **kwargs)
    annotation = _Calls.begins(self)
    call: Any
    given: tuple[Any, ...]
    # in the place of PyTorch's own wrapper, so that a deep recursion finds as much stack as before
    if _Calls.original is _WRAPPED_CALL and vars(self).get("_compiled_call_impl") is None:
        call, given = self._call_impl, args
    else:
        call, given = _Calls.original, (self, *args)
    try:
        return call(*given, **kwargs)
    except BaseException as error:
        drop_frame(error)
        raise
    finally:
        if annotation is not None:
            _Calls.ends(annotation)


class Annotations:
    """While they are on, calls of modules outside of compiled regions have their names around."""

    def __init__(self, session: Session, names: Names, on_call: Callable[[], bool]) -> None:
        """Nothing is annotated yet.

        Args:
            session: Of this process.
            names: Of the modules.
            on_call: Asked before each call: whether it still is to be annotated.
        """
        self._names = names
        self._on_call = on_call
        self._is_on = False
        self._patches = Patches()
        self._begins = session.hook("annotations", self._begin, None)
        self._ends = session.hook("annotations", _end, None)
        leave_alone(self._begins, with_callees=True)  # and with it all hooks: they share their code

    def put(self) -> None:
        """From now on; one at a time."""
        self._is_on = True
        _Calls.begins, _Calls.ends = self._begins, self._ends
        if not _Calls.is_kept:
            self._patches.wrap(nn.Module, "__call__", _around)

    def remove(self) -> None:
        """No longer."""
        self._is_on = False
        self._patches.undo()
        _Calls.is_kept = nn.Module.__call__ is not _Calls.original

    def _begin(self, module: nn.Module) -> Any:
        if not self._is_on or _get_tracing_state() is not None or not self._on_call():
            return None
        # a compiled one is called by its wrapper, from inside of which nothing is seen
        name = self._names.module_name_of(unwrapped(module))
        if not name:
            return None
        annotation: Any = record_function(PREFIX + name)
        return annotation.__enter__()


def _around(original: Callable[..., Any]) -> Callable[..., Any]:
    _Calls.original = original
    return _annotated


def _end(annotation: record_function) -> None:
    annotation.__exit__(None, None, None)
