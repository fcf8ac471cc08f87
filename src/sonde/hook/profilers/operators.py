"""Operators of the framework and their device kernels, recorded by PyTorch's profiler."""

from sonde.hook.profilers._profiler import Profiler
from sonde.hook.profilers._tracing import NO_TORCH, is_set, trace_window
from sonde.hook.session import Session
from sonde.records.profile import ProfileKind, Window


class Operators(Profiler):
    """Records a trace, which is decoded outside of the training process."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._trace = trace_window(session, ProfileKind.OPERATORS)

    def begin(self, window: Window) -> str | None:
        if self._trace is None:
            return NO_TORCH
        return self._trace.begin(
            window,
            device=True,
            shapes=is_set(window, "shapes", default=True),
            memory=is_set(window, "memory"),
            stacks=is_set(window, "stacks"),
        )

    def end(self, window: Window) -> None:
        if self._trace is not None:
            self._trace.end({"keep_trace": is_set(window, "keep_trace")})
