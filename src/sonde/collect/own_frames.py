"""Takes our wrappers out of the tracebacks that people read."""

from pathlib import Path
from types import TracebackType

_OUR_FILES = f"{Path(__file__).parents[1]}/"


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
