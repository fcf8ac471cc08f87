"""The replacement of `torch.autograd.backward`, which adds a single frame in all cases."""

from collections.abc import Callable
from typing import Any

import torch
from torch._C import _current_graph_task_id

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.loop.deferred_hooks import BACKWARD, DeferredHooks

Begin = Callable[[tuple[Any, ...]], tuple[Any, Any] | None]


def wrap_backward(
    original: Callable[..., Any],
    deferred: DeferredHooks,
    now_ns: Callable[[], int],
    begin_deferred: Begin,
    listeners: tuple[Callable[..., None], Callable[..., None]],
) -> Callable[..., Any]:
    """Wrap backward in a single function; `listeners` run before and after an inspected pass.

    `begin_deferred` returns the values to note, or None if the pass is inspected.
    """
    is_compiling = torch.compiler.is_compiling
    begins, ends = listeners
    current = deferred.current

    def backward(*args: Any, **kwargs: Any) -> Any:
        note: tuple[Any, Any] | None = None
        try:
            # activation checkpointing calls it inside a backward pass
            if is_compiling() or _current_graph_task_id() != -1:
                return original(*args, **kwargs)
            note = begin_deferred(args)
            if note is None:
                begins(args[0] if args else kwargs.get("tensors"))
            start_ns = now_ns()
            result = original(*args, **kwargs)
        except BaseException as error:
            if note is not None:
                current.is_in_backward = False
            drop_frame(error)
            raise
        if note is None:
            ends(start_ns)
        else:
            current.is_in_backward = False
            deferred.note((BACKWARD, start_ns, now_ns(), *note))
        return result

    return backward
