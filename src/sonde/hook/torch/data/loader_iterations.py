"""Iterations over data loaders: where each was started, over which data set, and for what."""

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sonde.hook.call_site import Chain, Frame


def no_data_set() -> None:
    """The data set of passes that no loader feeds."""


def reference(data_set: Any) -> Callable[[], Any]:
    """Refers to a data set without keeping it alive, where its class allows that."""
    try:
        return weakref.ref(data_set)
    except TypeError:
        key = sys.intern(f"{type(data_set).__qualname__} {id(data_set)}")
        return lambda: key


def is_alike(data_set: Any, other: Any) -> bool:
    """Whether two data sets may be the same one, built anew: of one class and of one length."""
    return type(data_set) is type(other) and _length(data_set) == _length(other) is not None


def _length(data_set: Any) -> int | None:
    try:
        return len(data_set)
    except (NotImplementedError, TypeError):
        return None


@dataclass(slots=True, eq=False)
class Feed:
    """One iteration over a data loader."""

    chain: Chain = ()
    frames: list[Frame] = field(default_factory=list)
    data_set: Callable[[], Any] = no_data_set  # a weak reference where that is possible
    is_training: bool = False  # a training pass has followed one of its batches
    pass_chain: Chain = ()  # the call site of the first pass that was given one of its batches


NO_FEED = Feed(is_training=True)  # no loader: nothing that an evaluation could be fed by


def _no_batch(_module: object, _args: object, _kwargs: object) -> None:
    """Nobody counts evaluations."""


class Feeds:
    """The iterations of a process, and what forward passes were given from them."""

    __slots__ = ("batch", "batch_of", "by_iterator", "latest", "trainings")

    def __init__(self) -> None:
        self.by_iterator: dict[int, Feed] = {}  # by the identity of the iterator
        self.latest = NO_FEED  # the one that has delivered the latest batch
        self.trainings = 0  # training passes so far
        self.batch: Any = None  # of the evaluation pass that is under way
        self.batch_of: Callable[..., Any] = _no_batch  # makes it

    def trained(self, passes: int) -> None:
        """Training passes that were not seen."""
        self.trainings += passes
        self.latest.is_training = True

    def clear(self) -> None:
        """Forgets all iterations."""
        self.by_iterator.clear()
        self.latest = NO_FEED
