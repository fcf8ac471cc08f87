"""What data loaders do, in the process that trains and in those that load for it.

Always: when an iterator starts and what its loader is like, and in every process when its latest
batches were made. Asked for: some batches closely.
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
from sonde.hook.torch.data.loader_batches import CloseLook, Stretch
from sonde.hook.torch.data.loader_channel import Channel
from sonde.hook.torch.data.loader_rows import LoaderRows, describe
from sonde.hook.torch.patching.patches import Patches

_LATEST = 64  # batches that a process remembers
_UNTIL_TOLD = 1 << 32  # batches


class Loading:
    """The loaders of one process; in a process that only loads, its part of one."""

    def __init__(self, session: Session, on_iteration: Callable[[Any, Any], None]) -> None:
        self._session = session
        self._clock = session.clock
        self.on_iteration = on_iteration  # told the loader and its iterator
        self.rows = LoaderRows(session)
        self._pid = 0  # of the process that all this is about
        self._latest: deque[tuple[int, int]] = deque(maxlen=_LATEST)
        self._channel: Channel | None = None
        self._is_asked = False  # a window is open in the process that trains
        self._asked_by: Channel | None = None  # in a process that only loads
        self._answered = 0
        self._left = 0
        self._is_gap = True  # what is said next does not follow what was said before
        self._busy = threading.local()
        session.listeners.before_flush(session.guard.shield("data loaders", self._hear, None))
        session.listeners.on_end(self._end)

    def attach(self, patches: Patches) -> None:
        """Wraps what starts an iterator, and what makes a batch in whichever process."""
        patches.wrap(DataLoader, "__iter__", self._starting)
        for kind in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            patches.wrap(getattr(fetchers, kind, None), "fetch", self._fetching, is_removable=True)

    def open(self, batches: int | None) -> None:
        """Batches are watched closely from now on.

        Args:
            batches: How many of each loader process; None: until `close`.
        """
        self._is_asked = True
        if self._channel is not None and self._channel.owner == os.getpid():
            self._channel.ask(_UNTIL_TOLD if batches is None else batches, is_open=True)

    def close(self, *, is_last: bool) -> None:
        """No more here; and in loader processes, if that is the last word."""
        self._is_asked = False
        if self._channel is not None and self._channel.owner == os.getpid():
            self._channel.end()
            if is_last:
                self._channel.ask(0, is_open=False)

    def _starting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        guard, now_ns = self._session.guard, self._clock.now_ns
        prepare = guard.shield("data loaders", self._prepare, None)
        started = guard.shield("data loaders", self.rows.started, None)
        iterates = guard.shield("evaluations", self.on_iteration, None)

        def start(loader: Any) -> Any:
            try:
                if self._session.store.place.job_uri is None or get_worker_info() is not None:
                    return original(loader)
                prepare(loader)
                start_ns = now_ns()
                iterator = original(loader)
                started(loader, iterator, Stretch(start_ns, now_ns()))
                iterates(loader, iterator)
                return iterator
            except BaseException as error:
                drop_frame(error)
                raise

        return start

    def _prepare(self, loader: Any) -> None:
        """A place to meet, before there is anybody to meet."""
        is_own = self._channel is not None and self._channel.owner == os.getpid()
        if loader.num_workers and not is_own:
            self._channel = Channel.create(self._session.store.place.run_id, os.getpid())
            if self._is_asked:
                self._channel.ask(1, is_open=True)

    def _fetching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        now_ns, latest, getpid = self._clock.now_ns, self._latest, os.getpid
        begin = self._session.guard.shield("data loaders", self._begin, None)
        is_wanted = self._session.guard.shield("data loaders", self._is_wanted, False)
        closely = partial(self._closely, original)

        def fetch(fetcher: Any, index: Any) -> Any:
            try:
                if self._pid != getpid():
                    begin()
                channel = self._asked_by
                if channel is None:  # this process trains: the wait for a batch tells its time
                    make = closely if self._is_asked else original
                    return make(fetcher, index)
                if (channel.number != self._answered or self._left) and is_wanted():
                    return closely(fetcher, index)
                start_ns = now_ns()
                batch = original(fetcher, index)
                latest.append((start_ns, now_ns()))
                return batch
            except BaseException as error:
                drop_frame(error)
                raise

        return fetch

    def _begin(self) -> None:
        """The first batch of this process."""
        self._pid = os.getpid()
        self._latest.clear()
        self._asked_by, self._answered, self._left = None, 0, 0
        if get_worker_info() is None:
            return
        self._is_asked = False
        parent = parent_process()
        owner = parent.pid if parent is not None and parent.pid is not None else 0
        inherited = self._channel
        if inherited is not None and inherited.owner == owner:
            self._asked_by = inherited
        else:
            self._asked_by = Channel.find(self._session.store.place.run_id, owner)
        if self._asked_by is not None and not self._asked_by.is_open:
            self._answered = self._asked_by.number

    def _is_wanted(self) -> bool:
        channel = self._asked_by
        if channel is not None and channel.number != self._answered:
            self._answered, self._left = channel.number, channel.batches
            self._is_gap = True
            if self._left and self._latest:
                self._report({"latest": list(self._latest)})
                self._latest.clear()
        is_wanted = self._left > 0
        self._left -= is_wanted
        return is_wanted

    @hidden_from_warnings
    def _closely(self, original: Callable[..., Any], fetcher: Any, index: Any) -> Any:
        guard = self._session.guard
        is_inner = getattr(self._busy, "is_on", False)  # of a loader inside of a data set
        look = None
        if not is_inner:
            look = guard.call("data loaders", lambda: CloseLook(fetcher, self._clock), None)
        self._busy.is_on = is_inner or look is not None
        try:
            made = original(fetcher, index)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            self._busy.is_on = is_inner
            if look is not None:
                guard.attempt("data loaders", look.end, None)
        if look is None:
            return made
        said = {"batch": look.batch.to_document()}
        guard.call("data loaders", lambda: self._report(said, fetcher), None)
        return made

    def _report(self, said: dict[str, Any], fetcher: Any = None) -> None:
        info = get_worker_info()
        if info is None:
            self.rows.add(said, self.rows.number_of_fetcher(fetcher))
        elif self._asked_by is not None:
            document = {"process": info.id, "gap": self._is_gap, **said}
            self._is_gap = False
            self._asked_by.tell(json.dumps(document, separators=(",", ":")))

    def _hear(self) -> None:
        if self._channel is not None and self._channel.owner == os.getpid():
            for pid, line in self._channel.hear():
                self.rows.add(describe(line), self.rows.number_of_process(pid))

    def _end(self) -> None:
        self._hear()
        if self._channel is not None and self._channel.owner == os.getpid():
            self._channel.close()
        self._channel = None
