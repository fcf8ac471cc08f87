"""System samples of one node: which series there are, their values, their buckets."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from sonde.bounded_cache import BoundedCache
from sonde.clock import NANOSECONDS
from sonde.records.metric import Series
from sonde.records.ranges import EVER, TimeRange
from sonde.store.backends import Backend
from sonde.store.format import SYSTEM
from sonde.store.layout import node_folder
from sonde.store.manifest import Extent
from sonde.store.reader import FolderReader
from sonde.store.rollups import Floats, Instants, Rollup

# Widths that the levels of the pyramid divide, so that an answer is put together from them.
_WIDTHS_SECONDS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600, 7200, 14_400, 21_600, 43_200, 86_400),
)


class SystemReader:
    """What one node's machine did."""

    def __init__(
        self, backend: Backend, node: str, decoded: BoundedCache[Any] | None = None
    ) -> None:
        self.node = node
        self._reader = FolderReader(backend, node_folder(node), SYSTEM, decoded)
        self.refresh()

    def refresh(self) -> None:
        """Looks for what has grown since."""
        self._reader.refresh()

    @property
    def extent(self) -> Extent | None:
        """From when to when there are samples."""
        return self._reader.extent

    @property
    def damages(self) -> list[str]:
        """What was found damaged so far."""
        return self._reader.damages

    def series(self, metric: str = "*", device: str | None = None) -> tuple[Series, ...]:
        """The series whose metric and device fit patterns (`gpu.*`, `gpu0`); None is any device."""
        return tuple(
            one
            for one in self._reader.series
            if fnmatchcase(one.metric.name, metric)
            and (device is None or fnmatchcase(one.device, device))
        )

    def samples(
        self, series: Sequence[Series], within: TimeRange = EVER
    ) -> tuple[Instants, Floats]:
        """Instants, and values as (series, tick); NaN where nothing was measured."""
        return self._reader.samples([one.key for one in series], within)

    def buckets(self, series: Sequence[Series], most: int, within: TimeRange = EVER) -> Rollup:
        """At most so many buckets over a range, from the pyramid."""
        width_ns = bucket_width_ns(self._span_ns(within), most)
        return self._reader.rollup(width_ns, [one.key for one in series], within)

    def _span_ns(self, within: TimeRange) -> int:
        extent = self.extent
        if extent is None:
            return 0
        start_ns = extent.first_ns if within.start_ns is None else within.start_ns
        end_ns = extent.last_ns if within.end_ns is None else within.end_ns
        return max(0, end_ns - start_ns)


def bucket_width_ns(span_ns: int, most: int) -> int:
    """The narrowest of the widths with which a span needs at most so many buckets."""
    for width in _WIDTHS_SECONDS:
        # a span that does not start at a bucket's edge touches one more
        if span_ns / (width * NANOSECONDS) <= max(1, most - 1):
            return int(width * NANOSECONDS)
    days = -(-span_ns // (max(1, most - 1) * 86_400 * NANOSECONDS))
    return int(days) * 86_400 * NANOSECONDS
