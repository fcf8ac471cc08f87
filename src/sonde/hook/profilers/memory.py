"""Tensor memory that each operator and module allocates and frees, from PyTorch's profiler."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sonde.hook.profilers._profiler import Profiler
from sonde.hook.profilers._tracing import NO_TORCH, is_set, trace_window
from sonde.hook.session import Session
from sonde.records.notice import NoticeKind
from sonde.records.profile import ProfileKind, Window
from sonde.store.layout import SNAPSHOT_SUFFIX

_NO_DEVICE = "requires a GPU, and none is in use"


class Memory(Profiler):
    """Records a trace, and on request an allocator snapshot."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._trace = trace_window(session, ProfileKind.MEMORY)
        self._history: Any = None
        self._initial_bytes: dict[str, int] = {}

    def begin(self, window: Window) -> str | None:
        if self._trace is None:
            return NO_TORCH
        allocator = import_module("sonde.hook.torch.profiler.allocator")
        self._initial_bytes = allocator.live_bytes()
        with_modules = is_set(window, "modules", default=True)
        refusal = self._trace.begin(window, with_modules=with_modules, memory=True)
        if refusal is None and is_set(window, "snapshot"):
            self._begin_history(allocator)
        return refusal

    def end(self, window: Window) -> None:
        if self._trace is None:
            return
        history, self._history = self._history, None
        snapshot = None if history is None else history.end()
        key = self._trace.end({"keep_trace": True, "before_bytes": self._initial_bytes})
        if snapshot is not None and key is not None:
            self._write(key + SNAPSHOT_SUFFIX, snapshot)

    def _begin_history(self, allocator: Any) -> None:
        if not self._initial_bytes:
            what = "allocator snapshot"
            self.session.store.notice(NoticeKind.NOT_COLLECTED, what, _NO_DEVICE)
            return
        self._history = allocator.History()
        self._history.begin()

    def _write(self, key: str, snapshot: Callable[[], bytes]) -> None:
        backend = self.session.store.backend
        self.session.worker_thread.submit("memory profiler", lambda: backend.write(key, snapshot()))
