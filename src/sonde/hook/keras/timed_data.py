"""Time the waits for data of a training loop that iterates in Python."""

from collections.abc import Callable, Iterable
from typing import Any

from sonde.clock import Clock
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.keras.batches import Batches
from sonde.hook.keras.hooks import Function


class _TimedData:
    """Passes batches on, and reports how long those of recorded steps took."""

    __slots__ = ("_arrived", "_batches", "_data", "_now_ns")

    def __init__(
        self, data: Iterable[Any], batches: Batches, clock: Clock, arrived: Function
    ) -> None:
        self._data = iter(data)
        self._batches, self._now_ns, self._arrived = batches, clock.now_ns, arrived

    def __iter__(self) -> "_TimedData":
        return self

    def __next__(self) -> Any:
        start_ns = self._now_ns() if self._batches.is_in_batch else 0
        try:
            batch = next(self._data)
        except BaseException as error:
            drop_frame(error)
            raise
        if start_ns:
            self._arrived(start_ns)
        return batch


def timed_data(batches: Batches, clock: Clock, arrived: Function) -> Callable[[Function], Function]:
    """Make a wrapper for the function that returns the batches of an epoch.

    Args:
        batches: Whether a batch is recorded.
        clock: Measures time.
        arrived: Called with the time at which a wait began.
    """

    def make(original: Function) -> Function:
        def call(epoch: Any) -> Any:
            try:
                return _TimedData(original(epoch), batches, clock, arrived)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    return make
