"""What data loaders did, as rows of operations; which loader it was, and what it is like."""

import json
import os
import weakref
from typing import Any

from torch.multiprocessing import get_start_method

from sonde.hook.session import Session
from sonde.hook.torch.data.loader_batches import Stretch
from sonde.records.loading import Operation
from sonde.records.profile import NO_CORRELATION, OperationCategory

NO_LOADER = -1  # not known which

_MOST_PROCESSES = 4096


class LoaderRows:
    """The loaders of this process, numbered as their first iterators start, and their rows."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loaders: list[tuple[weakref.ref[Any], dict[str, Any]]] = []  # by number
        self._fetchers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._iterators: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._processes: dict[int, int] = {}

    def number_of_fetcher(self, fetcher: Any) -> int:
        """The loader whose batches a fetcher of this process makes."""
        return self._fetchers.get(fetcher, NO_LOADER)

    def number_of_iterator(self, iterator: Any) -> int:
        """The loader that an iterator belongs to."""
        return self._iterators.get(iterator, NO_LOADER)

    def number_of_process(self, pid: int) -> int:
        """The loader that a process works for."""
        return self._processes.get(pid, NO_LOADER)

    def started(self, loader: Any, iterator: Any, took: Stretch) -> None:
        """An iterator is there, and its processes have been started."""
        facts = _facts(loader)
        number = self._number(loader, facts)
        self._iterators[iterator] = number
        fetcher = getattr(iterator, "_dataset_fetcher", None)
        if fetcher is not None:
            self._fetchers[fetcher] = number
        processes = [one.pid for one in getattr(iterator, "_workers", ())]
        self._processes |= dict.fromkeys(processes, number)
        while len(self._processes) > _MOST_PROCESSES:
            del self._processes[next(iter(self._processes))]
        self.operation(Operation.START, lane(number), took, facts)

    def add(self, said: dict[str, Any], number: int) -> None:
        """What a process has said of its batches."""
        where = lane(number, said.get("process"))
        gap = {"gap": True} if said.get("gap") else {}
        for place, (start_ns, end_ns) in enumerate(said.get("latest", ())):
            facts = {} if place else gap
            self.operation(Operation.BATCH, where, Stretch(start_ns, end_ns), facts)
        if "batch" in said:
            self._add_batch(said["batch"], where, gap)

    def _add_batch(self, batch: dict[str, Any], where: str, gap: dict[str, Any]) -> None:
        whole = Stretch(*batch["whole"])
        inside_ns = 0
        if "items" in batch:
            items = Stretch(*batch["items"])
            inside_ns += items.end_ns - items.start_ns
            facts = {name: batch[name] for name in ("calls", "longest_ns", "items_ns", "by")}
            self.operation(Operation.ITEMS, where, items, facts)
        if "collation" in batch:
            collation = Stretch(*batch["collation"])
            inside_ns += collation.end_ns - collation.start_ns
            self.operation(Operation.COLLATION, where, collation, {"by": batch["collates_by"]})
        facts = gap | {name: batch[name] for name in ("cpu_seconds", "stacks")}
        self.operation(Operation.BATCH, where, whole, facts, inside_ns)

    def operation(
        self,
        name: str,
        where: str,
        took: Stretch,
        facts: dict[str, Any] | None = None,
        inside_ns: int = 0,
    ) -> None:
        """One row."""
        length_ns = took.end_ns - took.start_ns
        detail = json.dumps(facts, separators=(",", ":")) if facts else ""
        times = (took.start_ns, length_ns, length_ns - inside_ns)
        category = OperationCategory.LOADING.value
        row = (str(name), category, where, "cpu", *times, NO_CORRELATION, "", detail)
        self._session.recorder.operation(row)

    def _number(self, loader: Any, facts: dict[str, Any]) -> int:
        """Its own; one that is made anew takes the number of its like that is gone."""
        known = weakref.ref(loader), facts
        place = len(self._loaders)
        for number, (other, like) in enumerate(self._loaders):
            if other() is loader:
                return number
            if other() is None and like == facts:
                place = min(place, number)
        self._loaders[place : place + 1] = [known]
        return place


def lane(number: int, process: int | None = None) -> str:
    """The row of a time line that a loader, or one of its processes, fills."""
    whose = "loader" if number == NO_LOADER else f"loader {number}"
    return whose if process is None else f"{whose} process {process}"


def describe(line: str) -> dict[str, Any]:
    """What a loader process has told."""
    said = json.loads(line)
    return said if isinstance(said, dict) else {}


def _facts(loader: Any) -> dict[str, Any]:
    """What one must know of a loader to give advice on it."""
    found = {
        name: getattr(loader, name, None)
        for name in ("num_workers", "batch_size", "pin_memory", "prefetch_factor")
    }
    context = getattr(loader, "multiprocessing_context", None)
    method = context.get_start_method() if context is not None else get_start_method(True)
    collate = getattr(loader, "collate_fn", None)
    return found | {
        "persistent_workers": bool(getattr(loader, "persistent_workers", False)),
        "start_method": method if found["num_workers"] else None,
        "dataset": type(loader.dataset).__qualname__,
        "collate": getattr(collate, "__qualname__", type(collate).__qualname__),
        "cores": _cores(),
    }


def _cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
