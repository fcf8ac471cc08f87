"""Keeps torch.compile from compiling Sonde's functions.

After a graph break, the compiler considers every function called inside a compiled one.
"""

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def skip_in_compiler(function: Callable[..., Any], *, with_callees: bool = False) -> None:
    """Keep the compiler from starting at this function; it may still trace through it.

    Args:
        function: A function of Sonde.
        with_callees: Also skip everything that the function calls.
    """
    if "torch" not in sys.modules:  # do not import torch for a script that does not use it
        return
    # older versions lack this interface
    with suppress(ImportError, AttributeError, KeyError):
        frames = importlib.import_module("torch._C._dynamo.eval_frame")
        actions, strategy = vars(frames)["_FrameAction"], vars(frames)["_FrameExecStrategy"]
        callees = actions.SKIP if with_callees else actions.DEFAULT
        frames.set_code_exec_strategy(function.__code__, strategy(actions.SKIP, callees))
