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


def field_of(error: BaseException, name: str) -> Any:
    """The `__traceback__`, `__cause__` or `__context__`, even if the class overrides it."""
    return BaseException.__dict__[name].__get__(error)


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
        trace = field_of(current, "__traceback__")
        BaseException.__dict__["__traceback__"].__set__(current, _without_wrappers(trace))
        waiting += [field_of(current, "__cause__"), field_of(current, "__context__")]
        if issubclass(type(current), BaseExceptionGroup):
            waiting += BaseExceptionGroup.__dict__["exceptions"].__get__(current)


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
