"""Data loaders: batches of every process, their items and collation, waits, and pinning."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch.utils.data._utils import pin_memory as pinning
from torch.utils.data.dataloader import _BaseDataLoaderIter

from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.profilers._profiler import Profiler
from sonde.hook.profilers._tracing import NO_TORCH
from sonde.hook.session import Session
from sonde.hook.torch.data.loader_batches import Interval
from sonde.hook.torch.data.loader_rows import lane
from sonde.hook.torch.patching.patches import Patches
from sonde.records.loading import Operation
from sonde.records.profile import Window

if TYPE_CHECKING:
    from sonde.hook.torch.data.loaders import DataLoading

_MIN_BATCHES = 2  # per loader process; most processes begin no batch within one step


class DataLoaders(Profiler):
    """Records the batches of a few steps in detail, in all loader processes.

    Each loader process reports its next batches. A process that begins no batch while the window
    is open reports afterwards.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._patches = Patches()
        self._pinning = threading.local()
        self._loading: DataLoading | None = None

    def begin(self, window: Window) -> str | None:
        adapter = self.session.frameworks.adapters.get("torch")
        if not isinstance(adapter, PyTorch):
            return NO_TORCH
        self._loading = adapter.loading
        is_timed = window.duration_seconds is not None
        self._loading.open(None if is_timed else max(_MIN_BATCHES, window.num_steps))
        self._patches.wrap(_BaseDataLoaderIter, "__next__", self._wrap_next)
        self._patches.wrap(pinning, "pin_memory", self._wrap_pin)
        return None

    def end(self, window: Window) -> None:
        self._patches.undo()
        if self._loading is not None:
            self._loading.close(is_last=window.duration_seconds is not None)
            self._loading = None

    def _wrap_next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        note = self.session.guard.shield("data loaders", self._record_wait, None)
        count_ready = self.session.guard.shield("data loaders", _count_ready, None)
        now_ns = self.session.clock.now_ns

        def awaited(iterator: Any) -> Any:
            try:
                ready = count_ready(iterator)
                start_ns = now_ns()
                batch = original(iterator)
                note(iterator, Interval(start_ns, now_ns()), ready)
                return batch
            except BaseException as error:
                drop_frame(error)
                raise

        return awaited

    def _record_wait(self, iterator: Any, interval: Interval, ready: int | None) -> None:
        if self._loading is not None and self.session.state.is_on:
            rows = self._loading.rows
            lane_name = lane(rows.number_of_iterator(iterator))
            facts = {"ready": ready} if ready is not None else None
            rows.operation(Operation.WAIT, lane_name, interval, facts)

    def _wrap_pin(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Time only the outermost call, since pinning a container is recursive."""
        note = self.session.guard.shield("data loaders", self._record_pinning, None)
        now_ns = self.session.clock.now_ns

        def pinned(data: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if getattr(self._pinning, "is_on", False):
                    return original(data, *args, **kwargs)
                self._pinning.is_on = True
                start_ns = now_ns()
                try:
                    return original(data, *args, **kwargs)
                finally:
                    self._pinning.is_on = False
                    note(Interval(start_ns, now_ns()))
            except BaseException as error:
                drop_frame(error)
                raise

        return pinned

    def _record_pinning(self, interval: Interval) -> None:
        if self._loading is not None and self.session.state.is_on:
            self._loading.rows.operation(Operation.PINNING, "loader pinning", interval)


def _count_ready(iterator: Any) -> int | None:
    """Number of batches that are ready when the next one is requested, or None if unknown."""
    tasks = getattr(iterator, "_task_info", None)
    queue = getattr(iterator, "_data_queue", None)
    if tasks is None or queue is None:
        return None
    try:
        return sum(len(task) > 1 for task in tasks.values()) + int(queue.qsize())
    except NotImplementedError:  # `qsize` on some systems
        return None
