"""Iterations over data loaders: call site, data set and purpose."""

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sonde.hook.call_site import Chain, Frame


def no_data_set() -> None:
    """Placeholder for the data set of passes without a loader."""


def reference(data_set: Any) -> Callable[[], Any]:
    """A weak reference to a data set, or a key if its class does not support them."""
    try:
        return weakref.ref(data_set)
    except TypeError:
        key = sys.intern(f"{type(data_set).__qualname__} {id(data_set)}")
        return lambda: key


def may_be_rebuilt(data_set: Any, second: Any) -> bool:
    """Whether two data sets have the same class and length, so one may replace the other."""
    return type(data_set) is type(second) and _length(data_set) == _length(second) is not None


def _length(data_set: Any) -> int | None:
    try:
        return len(data_set)
    except (NotImplementedError, TypeError):
        return None


@dataclass(slots=True, eq=False)
class Feed:
    """An iteration over a data loader."""

    chain: Chain = ()
    frames: list[Frame] = field(default_factory=list)
    data_set: Callable[[], Any] = no_data_set  # weak reference if possible
    is_training: bool = False  # a training pass has used one of its batches
    pass_chain: Chain = ()  # call site of the first pass that used one of its batches


NO_FEED = Feed(is_training=True)  # no loader


def _no_batch(_module: object, _args: object, _kwargs: object) -> None:
    """Default of `Feeds.batch_of`: evaluations are not recorded."""


class Feeds:
    """The iterations of a process and the batches that forward passes used."""

    __slots__ = ("batch", "batch_of", "by_iterator", "latest", "training_passes")

    def __init__(self) -> None:
        self.by_iterator: dict[int, Feed] = {}  # by identity of the iterator
        self.latest = NO_FEED  # delivered the latest batch
        self.training_passes = 0  # training passes so far
        self.batch: Any = None  # of the current evaluation pass
        self.batch_of: Callable[..., Any] = _no_batch  # creates the batch

    def create_batches_with(self, batch_of: Callable[..., Any]) -> None:
        """Set the function that creates the batch of an evaluation pass from its arguments."""
        self.batch_of = batch_of

    def count_training(self, passes: int) -> None:
        """Count training passes that ran without hooks."""
        self.training_passes += passes
        self.latest.is_training = True

    def clear(self) -> None:
        """Remove all iterations."""
        self.by_iterator.clear()
        self.latest = NO_FEED
