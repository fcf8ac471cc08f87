"""Keep our wrappers out of the tracebacks and warnings that people read."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

_OUR_FILES = f"{Path(__file__).parents[1]}/"

# `warnings.warn(..., stacklevel=k)` does not count frames of files whose name holds both words:
# Python skips its own import system that way.
_SKIPPED_BY_WARNINGS = " (importlib._bootstrap)"

Wrapper = TypeVar("Wrapper", bound=Callable[..., Any])


def hidden_from_warnings(wrapper: Wrapper) -> Wrapper:
    """Make warnings from below a wrapper name the caller of the wrapper, as they would without it.

    The file of its code still begins with its path, which is how our frames are recognized.
    """
    code = wrapper.__code__
    if not code.co_filename.endswith(_SKIPPED_BY_WARNINGS):
        name = code.co_filename + _SKIPPED_BY_WARNINGS
        wrapper.__code__ = code.replace(co_filename=name)
    return wrapper


def drop_frame(error: BaseException) -> None:
    """Take the frame of the calling wrapper, the outermost so far, from a traceback.

    To be called where the wrapper catches what the wrapped function raises, before a plain `raise`.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def remove_own_frames(error: BaseException) -> None:
    """Remove the frames of our wrappers from an exception and those it was raised from.

    A frame of ours stays where the exception was raised in our code.
    """
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = _without_wrappers(current.__traceback__)
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions


def _without_wrappers(trace: TracebackType | None) -> TracebackType | None:
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    is_called_by_us = False
    for entry in reversed(entries):
        is_ours = entry.tb_frame.f_code.co_filename.startswith(_OUR_FILES)
        is_called_by_us = is_called_by_us or not is_ours
        if not (is_ours and is_called_by_us):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
