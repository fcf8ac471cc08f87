"""One batch of a data loader, watched closely: its items, its collation, where the time went.

For this one batch the fetcher's own references to the data set and the collation lead through us;
neither of them, nor anything of the script's, is changed.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sonde.clock import Clock, thread_cpu_seconds
from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.torch.data.loader_stacks import Stack, Stacks


class Stretch(NamedTuple):
    """From when to when."""

    start_ns: int
    end_ns: int


_NOT_YET = Stretch(0, 0)


@dataclass
class Batch:
    """What was seen of a batch."""

    whole: Stretch = _NOT_YET
    items: list[Stretch] = field(default_factory=list)
    are_single: bool = True  # not all of them in one call
    collation: Stretch | None = None
    collates_by: str = ""
    stacks: list[tuple[Stack, int]] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def to_document(self) -> dict[str, Any]:
        """As it travels between processes."""
        lengths = [one.end_ns - one.start_ns for one in self.items]
        found: dict[str, Any] = {
            "whole": self.whole,
            "stacks": self.stacks,
            "cpu_seconds": round(self.cpu_seconds, 6),
        }
        if self.items:
            found["items"] = (self.items[0].start_ns, self.items[-1].end_ns)
            found["calls"], found["longest_ns"] = len(lengths), max(lengths)
            found["items_ns"], found["by"] = sum(lengths), self._by()
        if self.collation is not None:
            found["collation"], found["collates_by"] = self.collation, self.collates_by
        return found

    def _by(self) -> str:
        return "__getitem__" if self.are_single else "__getitems__"


class CloseLook:
    """Looks at the batch that a fetcher makes, from its making on until `end`."""

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
        self._lead_through_us()
        self._stacks.start()
        self._start_ns, self._spent = clock.now_ns(), thread_cpu_seconds()

    def end(self) -> None:
        """The batch is there, or will never be."""
        batch = self.batch
        batch.cpu_seconds = thread_cpu_seconds() - self._spent
        batch.whole = Stretch(self._start_ns, self._clock.now_ns())
        for name, value in self._before.items():
            setattr(self._fetcher, name, value)
        batch.stacks = self._stacks.stop()

    def _lead_through_us(self) -> None:
        before, fetcher, now_ns = self._before, self._fetcher, self._clock.now_ns
        origin = next((name for name in ("dataset_iter", "dataset") if name in before), None)
        if origin is not None:
            setattr(fetcher, origin, _Items(before[origin], self.batch, now_ns))
        collate = before.get("collate_fn")
        if callable(collate):
            self.batch.collates_by = str(getattr(collate, "__qualname__", ""))
            fetcher.collate_fn = _collation(collate, self.batch, now_ns)


class _Items:
    """Stands for a data set, or an iterator over one, and times what it gives."""

    def __init__(self, origin: Any, batch: Batch, now_ns: Callable[[], int]) -> None:
        self._origin = origin
        self._batch = batch
        self._now_ns = now_ns

    @hidden_from_warnings
    def __getitem__(self, index: Any) -> Any:
        try:
            start_ns = self._now_ns()
            item = self._origin[index]
            self._batch.items.append(Stretch(start_ns, self._now_ns()))
            return item
        except BaseException as error:
            drop_frame(error)
            raise

    @hidden_from_warnings
    def __next__(self) -> Any:
        try:
            start_ns = self._now_ns()
            item = next(self._origin)
            self._batch.items.append(Stretch(start_ns, self._now_ns()))
            return item
        except BaseException as error:
            drop_frame(error)
            raise

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._origin, name)
        if name != "__getitems__" or not found:
            return found

        def items(indices: Any) -> Any:
            try:
                start_ns = self._now_ns()
                given = found(indices)
                self._batch.items.append(Stretch(start_ns, self._now_ns()))
                self._batch.are_single = False
                return given
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
            made = original(*data)
            batch.collation = Stretch(start_ns, now_ns())
            return made
        except BaseException as error:
            drop_frame(error)
            raise

    return hidden_from_warnings(collated)
