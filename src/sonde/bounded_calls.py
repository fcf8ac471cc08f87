"""Calls that may hang or fail without blocking the caller."""

import threading
from collections.abc import Callable
from typing import TypeVar

from sonde.guard import Guard

Result = TypeVar("Result")
Default = TypeVar("Default")


def call_within(
    seconds: float, what: str, function: Callable[[], Result], default: Default
) -> Result | Default:
    """Return the function's result, or the default if it fails or exceeds the time limit."""
    results: list[Result] = []

    def call() -> None:
        Guard().attempt(what, lambda: results.append(function()), None)

    thread = threading.Thread(target=call, name=f"sonde-{what}", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is shutting down and starts no threads
        call()
    else:
        thread.join(max(0.0, seconds))
    return results[0] if results else default
