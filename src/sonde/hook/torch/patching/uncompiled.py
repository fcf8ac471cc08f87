"""Keeps our own functions away from the compiler.

After a graph break it looks at every function that runs inside a compiled one, ours included.
"""

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def leave_alone(function: Callable[..., Any], *, with_callees: bool = False) -> None:
    """The compiler does not start with this function, though it may trace through it.

    Args:
        function: One of ours.
        with_callees: Nor with anything that is called from it.
    """
    if "torch" not in sys.modules:  # a script that does without it must not pay for it
        return
    # older versions know other ways, and are left as they are
    with suppress(ImportError, AttributeError, KeyError):
        frames = importlib.import_module("torch._C._dynamo.eval_frame")
        actions, strategy = vars(frames)["_FrameAction"], vars(frames)["_FrameExecStrategy"]
        callees = actions.SKIP if with_callees else actions.DEFAULT
        frames.set_code_exec_strategy(function.__code__, strategy(actions.SKIP, callees))
