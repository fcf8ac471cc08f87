"""Operation rows of data loaders, with loader numbers and configuration."""

import json
import os
import weakref
from typing import Any

from torch.multiprocessing import get_start_method

from sonde.hook.session import Session
from sonde.hook.torch.data.loader_batches import Interval
from sonde.records.loading import Operation
from sonde.records.profile import NO_CORRELATION, OperationCategory

NO_LOADER = -1  # unknown loader

_MAX_PROCESSES = 4096


class LoaderRows:
    """Numbers the loaders of this process by first use and records their operations."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loaders: list[tuple[weakref.ref[Any], dict[str, Any]]] = []  # by number
        self._fetchers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._iterators: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._processes: dict[int, int] = {}

    def number_of_fetcher(self, fetcher: Any) -> int:
        """The number of the loader that a fetcher works for."""
        return self._fetchers.get(fetcher, NO_LOADER)

    def number_of_iterator(self, iterator: Any) -> int:
        """The number of the loader that an iterator belongs to."""
        return self._iterators.get(iterator, NO_LOADER)

    def number_of_process(self, pid: int) -> int:
        """The number of the loader that a process works for."""
        return self._processes.get(pid, NO_LOADER)

    def record_start(self, loader: Any, iterator: Any, interval: Interval) -> None:
        """Record the start of an iterator and its worker processes."""
        facts = _facts(loader)
        number = self._number(loader, facts)
        self._iterators[iterator] = number
        fetcher = getattr(iterator, "_dataset_fetcher", None)
        if fetcher is not None:
            self._fetchers[fetcher] = number
        processes = [process.pid for process in getattr(iterator, "_workers", ())]
        self._processes |= dict.fromkeys(processes, number)
        while len(self._processes) > _MAX_PROCESSES:
            del self._processes[next(iter(self._processes))]
        self.operation(Operation.START, lane(number), interval, facts)

    def add(self, report: dict[str, Any], number: int) -> None:
        """Record the report of a process about its batches."""
        lane_name = lane(number, report.get("process"))
        gap = {"gap": True} if report.get("gap") else {}
        for position, (start_ns, end_ns) in enumerate(report.get("latest", ())):
            facts = {} if position else gap
            self.operation(Operation.BATCH, lane_name, Interval(start_ns, end_ns), facts)
        if "batch" in report:
            self._add_batch(report["batch"], lane_name, gap)

    def _add_batch(self, batch: dict[str, Any], lane_name: str, gap: dict[str, Any]) -> None:
        extent = Interval(*batch["whole"])
        inside_ns = 0
        if "items" in batch:
            items = Interval(*batch["items"])
            inside_ns += items.end_ns - items.start_ns
            facts = {name: batch[name] for name in ("calls", "longest_ns", "items_ns", "by")}
            self.operation(Operation.ITEMS, lane_name, items, facts)
        if "collation" in batch:
            collation = Interval(*batch["collation"])
            inside_ns += collation.end_ns - collation.start_ns
            self.operation(Operation.COLLATION, lane_name, collation, {"by": batch["collates_by"]})
        facts = gap | {name: batch[name] for name in ("cpu_seconds", "stacks")}
        self.operation(Operation.BATCH, lane_name, extent, facts, inside_ns)

    def operation(
        self,
        name: str,
        lane_name: str,
        interval: Interval,
        facts: dict[str, Any] | None = None,
        inside_ns: int = 0,
    ) -> None:
        """Record an operation."""
        length_ns = interval.end_ns - interval.start_ns
        detail = json.dumps(facts, separators=(",", ":")) if facts else ""
        times = (interval.start_ns, length_ns, length_ns - inside_ns)
        category = OperationCategory.LOADING.value
        row = (str(name), category, lane_name, "cpu", *times, NO_CORRELATION, "", detail)
        self._session.recorder.operation(row)

    def _number(self, loader: Any, facts: dict[str, Any]) -> int:
        """The number of a loader; a recreated one reuses the number of its predecessor."""
        entry = weakref.ref(loader), facts
        position = len(self._loaders)
        for number, (reference, loader_facts) in enumerate(self._loaders):
            if reference() is loader:
                return number
            if reference() is None and loader_facts == facts:
                position = min(position, number)
        self._loaders[position : position + 1] = [entry]
        return position


def lane(number: int, process: int | None = None) -> str:
    """The timeline lane of a loader or of one of its processes."""
    label = "loader" if number == NO_LOADER else f"loader {number}"
    return label if process is None else f"{label} process {process}"


def parse_report(line: str) -> dict[str, Any]:
    """Parse the report of a loader process."""
    report = json.loads(line)
    return report if isinstance(report, dict) else {}


def _facts(loader: Any) -> dict[str, Any]:
    """The configuration of a loader, as needed for tuning advice."""
    facts = {
        name: getattr(loader, name, None)
        for name in ("num_workers", "batch_size", "pin_memory", "prefetch_factor")
    }
    context = getattr(loader, "multiprocessing_context", None)
    method = context.get_start_method() if context is not None else get_start_method(True)
    collate = getattr(loader, "collate_fn", None)
    return facts | {
        "persistent_workers": bool(getattr(loader, "persistent_workers", False)),
        "start_method": method if facts["num_workers"] else None,
        "dataset": type(loader.dataset).__qualname__,
        "collate": getattr(collate, "__qualname__", type(collate).__qualname__),
        "cores": _cores(),
    }


def _cores() -> int:
    """The number of CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
