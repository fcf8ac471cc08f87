"""Keep Sonde's wrappers out of the user's tracebacks and warnings."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

_OUR_FILES = f"{Path(__file__).parents[1]}/"

# `warnings.warn(..., stacklevel=k)` skips frames of files whose name contains both words, because
# Python hides its own import system that way.
_SKIPPED_BY_WARNINGS = " (importlib._bootstrap)"

Wrapper = TypeVar("Wrapper", bound=Callable[..., Any])


def hidden_from_warnings(wrapper: Wrapper) -> Wrapper:
    """Attribute warnings from below a wrapper to its caller, as if there were no wrapper.

    The file name of its code still begins with its path, which identifies Sonde's frames.
    """
    code = wrapper.__code__
    if not code.co_filename.endswith(_SKIPPED_BY_WARNINGS):
        name = code.co_filename + _SKIPPED_BY_WARNINGS
        wrapper.__code__ = code.replace(co_filename=name)
    return wrapper


def drop_frame(error: BaseException) -> None:
    """Remove the frame of the calling wrapper, the outermost so far, from a traceback.

    Call it where the wrapper catches an exception of the wrapped function, before a plain `raise`.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def remove_sonde_frames(error: BaseException) -> None:
    """Remove the frames of Sonde's wrappers from an exception and its causes.

    Frames stay if the exception was raised in Sonde's own code.
    """
    visited: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in visited:
            continue
        visited.add(id(current))
        current.__traceback__ = _without_wrappers(current.__traceback__)
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions


def _without_wrappers(trace: TracebackType | None) -> TracebackType | None:
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    cleaned: TracebackType | None = None
    is_called_by_us = False
    for entry in reversed(entries):
        is_ours = entry.tb_frame.f_code.co_filename.startswith(_OUR_FILES)
        is_called_by_us = is_called_by_us or not is_ours
        if not (is_ours and is_called_by_us):
            cleaned = TracebackType(cleaned, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return cleaned
