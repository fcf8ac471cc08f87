"""Data loader activity in the training process and in its loader processes.

Always recorded: the start of each iterator, the configuration of its loader, and in every process
the times of the latest batches. On request, some batches are inspected in detail.
"""

import json
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from multiprocessing import parent_process
from typing import Any

from torch.utils.data import DataLoader, get_worker_info
from torch.utils.data._utils import fetch as fetchers

from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.session import Session
from sonde.hook.torch.data.loader_batches import BatchInspection, Interval
from sonde.hook.torch.data.loader_channel import Channel
from sonde.hook.torch.data.loader_rows import LoaderRows, parse_report
from sonde.hook.torch.patching.patches import Patches

_MAX_LATEST = 64  # batches whose times a process keeps
_NO_LIMIT = 1 << 32  # batches


class DataLoading:
    """Tracks data loaders, in the training process and in its loader processes."""

    def __init__(self, session: Session, on_iteration: Callable[[Any, Any], None]) -> None:
        self._session = session
        self._clock = session.clock
        self.on_iteration = on_iteration  # called with the loader and its iterator
        self.rows = LoaderRows(session)
        self._pid = 0  # the process that this state belongs to
        self._latest: deque[tuple[int, int]] = deque(maxlen=_MAX_LATEST)
        self._channel: Channel | None = None
        self._is_requested = False  # a window is open in the training process
        self._requested_by: Channel | None = None  # in a loader process
        self._request_number = 0
        self._batches_left = 0
        self._is_gap = True  # the next report does not directly follow the previous one
        self._busy = threading.local()
        session.listeners.before_flush(
            session.guard.shield("data loaders", self._read_reports, None)
        )
        session.listeners.on_end(self._end)

    def attach(self, patches: Patches) -> None:
        """Wrap the start of iterators and the creation of batches."""
        patches.wrap(DataLoader, "__iter__", self._wrap_iter)
        for kind in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            patches.wrap(
                getattr(fetchers, kind, None), "fetch", self._wrap_fetch, is_removable=True
            )

    def open(self, batches: int | None) -> None:
        """Inspect batches from now on.

        Args:
            batches: The number of batches per loader process; None means until `close`.
        """
        self._is_requested = True
        if self._channel is not None and self._channel.owner == os.getpid():
            self._channel.request(_NO_LIMIT if batches is None else batches, is_open=True)

    def close(self, *, is_last: bool) -> None:
        """Stop inspecting in this process and, if `is_last`, in loader processes."""
        self._is_requested = False
        if self._channel is not None and self._channel.owner == os.getpid():
            self._channel.end()
            if is_last:
                self._channel.request(0, is_open=False)

    def _wrap_iter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        guard, now_ns = self._session.guard, self._clock.now_ns
        prepare = guard.shield("data loaders", self._prepare, None)
        started = guard.shield("data loaders", self.rows.record_start, None)
        iterates = guard.shield("evaluations", self.on_iteration, None)

        def start(loader: Any) -> Any:
            try:
                if self._session.store.worker.job_uri is None or get_worker_info() is not None:
                    return original(loader)
                prepare(loader)
                start_ns = now_ns()
                iterator = original(loader)
                started(loader, iterator, Interval(start_ns, now_ns()))
                iterates(loader, iterator)
                return iterator
            except BaseException as error:
                drop_frame(error)
                raise

        return start

    def _prepare(self, loader: Any) -> None:
        """Create the channel before loader processes start."""
        is_own = self._channel is not None and self._channel.owner == os.getpid()
        if loader.num_workers and not is_own:
            self._channel = Channel.create(self._session.store.worker.run_id, os.getpid())
            if self._is_requested:
                self._channel.request(1, is_open=True)

    def _wrap_fetch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        now_ns, latest, getpid = self._clock.now_ns, self._latest, os.getpid
        begin = self._session.guard.shield("data loaders", self._begin, None)
        is_due = self._session.guard.shield("data loaders", self._is_due, False)
        inspect = partial(self._inspect, original)

        def fetch(fetcher: Any, index: Any) -> Any:
            try:
                if self._pid != getpid():
                    begin()
                channel = self._requested_by
                if channel is None:  # in the training process, the data wait includes this time
                    make = inspect if self._is_requested else original
                    return make(fetcher, index)
                if (channel.number != self._request_number or self._batches_left) and is_due():
                    return inspect(fetcher, index)
                start_ns = now_ns()
                batch = original(fetcher, index)
                latest.append((start_ns, now_ns()))
                return batch
            except BaseException as error:
                drop_frame(error)
                raise

        return fetch

    def _begin(self) -> None:
        """Reset the state for the first batch of this process."""
        self._pid = os.getpid()
        self._latest.clear()
        self._requested_by, self._request_number, self._batches_left = None, 0, 0
        if get_worker_info() is None:
            return
        self._is_requested = False
        parent = parent_process()
        owner = parent.pid if parent is not None and parent.pid is not None else 0
        inherited = self._channel
        if inherited is not None and inherited.owner == owner:
            self._requested_by = inherited
        else:
            self._requested_by = Channel.find(self._session.store.worker.run_id, owner)
        if self._requested_by is not None and not self._requested_by.is_open:
            self._request_number = self._requested_by.number

    def _is_due(self) -> bool:
        channel = self._requested_by
        if channel is not None and channel.number != self._request_number:
            self._request_number, self._batches_left = channel.number, channel.batches
            self._is_gap = True
            if self._batches_left and self._latest:
                self._report({"latest": list(self._latest)})
                self._latest.clear()
        is_due = self._batches_left > 0
        self._batches_left -= is_due
        return is_due

    @hidden_from_warnings
    def _inspect(self, original: Callable[..., Any], fetcher: Any, index: Any) -> Any:
        guard = self._session.guard
        is_inner = getattr(self._busy, "is_on", False)  # a loader nested in a data set
        inspection = None
        if not is_inner:
            inspection = guard.call(
                "data loaders", lambda: BatchInspection(fetcher, self._clock), None
            )
        self._busy.is_on = is_inner or inspection is not None
        try:
            batch = original(fetcher, index)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            self._busy.is_on = is_inner
            if inspection is not None:
                guard.attempt("data loaders", inspection.end, None)
        if inspection is None:
            return batch
        report = {"batch": inspection.batch.to_document()}
        guard.call("data loaders", lambda: self._report(report, fetcher), None)
        return batch

    def _report(self, report: dict[str, Any], fetcher: Any = None) -> None:
        info = get_worker_info()
        if info is None:
            self.rows.add(report, self.rows.number_of_fetcher(fetcher))
        elif self._requested_by is not None:
            document = {"process": info.id, "gap": self._is_gap, **report}
            self._is_gap = False
            self._requested_by.write(json.dumps(document, separators=(",", ":")))

    def _read_reports(self) -> None:
        if self._channel is not None and self._channel.owner == os.getpid():
            for pid, line in self._channel.read_new():
                self.rows.add(parse_report(line), self.rows.number_of_process(pid))

    def _end(self) -> None:
        self._read_reports()
        if self._channel is not None and self._channel.owner == os.getpid():
            self._channel.close()
        self._channel = None
