"""Iterations over data loaders: where each was started, over which data set, and for what."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sonde.collect.call_site import Chain, Frame


@dataclass(slots=True, eq=False)
class Feed:
    """One iteration over a data loader."""

    chain: Chain = ()
    frames: list[Frame] = field(default_factory=list)
    data_set: Callable[[], Any] = lambda: None  # a weak reference where that is possible
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

    def clear(self) -> None:
        """Forgets all iterations."""
        self.by_iterator.clear()
        self.latest = NO_FEED
