"""Inspection of one data loader batch: its items, its collation and its stacks.

For this batch only, the fetcher's references to the data set and to the collate function are
replaced by timing wrappers. Objects of the script are not changed.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sonde.clock import Clock, thread_cpu_seconds
from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.torch.data.loader_stacks import Stack, Stacks


class Interval(NamedTuple):
    """A time interval."""

    start_ns: int
    end_ns: int


_UNSET = Interval(0, 0)


@dataclass
class Batch:
    """Measurements of a batch."""

    extent: Interval = _UNSET
    items: list[Interval] = field(default_factory=list)
    are_single: bool = True  # False if the data set returned all items in one call
    collation: Interval | None = None
    collates_by: str = ""
    stacks: list[tuple[Stack, int]] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def to_document(self) -> dict[str, Any]:
        """The JSON document sent to the training process."""
        lengths = [item.end_ns - item.start_ns for item in self.items]
        document: dict[str, Any] = {
            "whole": self.extent,
            "stacks": self.stacks,
            "cpu_seconds": round(self.cpu_seconds, 6),
        }
        if self.items:
            document["items"] = (self.items[0].start_ns, self.items[-1].end_ns)
            document["calls"], document["longest_ns"] = len(lengths), max(lengths)
            document["items_ns"], document["by"] = sum(lengths), self._by()
        if self.collation is not None:
            document["collation"], document["collates_by"] = self.collation, self.collates_by
        return document

    def _by(self) -> str:
        return "__getitem__" if self.are_single else "__getitems__"


class BatchInspection:
    """Inspects the batch that a fetcher makes, from construction until `end`."""

    def __init__(self, fetcher: Any, clock: Clock) -> None:
        self.batch = Batch()
        self._fetcher = fetcher
        self._clock = clock
        self._before = {
            name: vars(fetcher)[name]
            for name in ("dataset", "dataset_iter", "collate_fn")
            if name in vars(fetcher)
        }
        self._stacks = Stacks(clock, threading.get_ident())
        self._wrap_fetcher()
        self._stacks.start()
        self._start_ns, self._start_cpu_seconds = clock.now_ns(), thread_cpu_seconds()

    def end(self) -> None:
        """Finish the inspection and restore the fetcher."""
        batch = self.batch
        batch.cpu_seconds = thread_cpu_seconds() - self._start_cpu_seconds
        batch.extent = Interval(self._start_ns, self._clock.now_ns())
        for name, value in self._before.items():
            setattr(self._fetcher, name, value)
        batch.stacks = self._stacks.stop()

    def _wrap_fetcher(self) -> None:
        before, fetcher, now_ns = self._before, self._fetcher, self._clock.now_ns
        origin = next((name for name in ("dataset_iter", "dataset") if name in before), None)
        if origin is not None:
            setattr(fetcher, origin, _TimedItems(before[origin], self.batch, now_ns))
        collate = before.get("collate_fn")
        if callable(collate):
            self.batch.collates_by = str(getattr(collate, "__qualname__", ""))
            fetcher.collate_fn = _collation(collate, self.batch, now_ns)


class _TimedItems:
    """Wraps a data set, or an iterator over one, and times its items."""

    def __init__(self, origin: Any, batch: Batch, now_ns: Callable[[], int]) -> None:
        self._origin = origin
        self._batch = batch
        self._now_ns = now_ns

    @hidden_from_warnings
    def __getitem__(self, index: Any) -> Any:
        try:
            start_ns = self._now_ns()
            item = self._origin[index]
            self._batch.items.append(Interval(start_ns, self._now_ns()))
            return item
        except BaseException as error:
            drop_frame(error)
            raise

    @hidden_from_warnings
    def __next__(self) -> Any:
        try:
            start_ns = self._now_ns()
            item = next(self._origin)
            self._batch.items.append(Interval(start_ns, self._now_ns()))
            return item
        except BaseException as error:
            drop_frame(error)
            raise

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._origin, name)
        if name != "__getitems__" or not attribute:
            return attribute

        def items(indices: Any) -> Any:
            try:
                start_ns = self._now_ns()
                result = attribute(indices)
                self._batch.items.append(Interval(start_ns, self._now_ns()))
                self._batch.are_single = False
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        return hidden_from_warnings(items)


def _collation(
    original: Callable[..., Any], batch: Batch, now_ns: Callable[[], int]
) -> Callable[..., Any]:
    def collated(*data: Any) -> Any:
        try:
            start_ns = now_ns()
            batch_data = original(*data)
            batch.collation = Interval(start_ns, now_ns())
            return batch_data
        except BaseException as error:
            drop_frame(error)
            raise

    return hidden_from_warnings(collated)
