"""System samples of one node: series, values and downsampled buckets."""

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

# Multiples of the roll-up levels, so that buckets can be computed from roll-ups.
_WIDTHS_SECONDS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600, 7200, 14_400, 21_600, 43_200, 86_400),
)


class SystemReader:
    """The system samples of one node."""

    def __init__(
        self, backend: Backend, node: str, decoded: BoundedCache[Any] | None = None
    ) -> None:
        self.node = node
        self._reader = FolderReader(backend, node_folder(node), SYSTEM, decoded)
        self.refresh()

    def refresh(self) -> None:
        """Read what was added since the last refresh."""
        self._reader.refresh()

    @property
    def extent(self) -> Extent | None:
        """The time range of the samples."""
        return self._reader.extent

    @property
    def damages(self) -> list[str]:
        """Damage found so far."""
        return self._reader.damages

    def series(self, metric: str = "*", device: str | None = None) -> tuple[Series, ...]:
        """The series whose metric and device match patterns such as `gpu.*` and `gpu0`."""
        return tuple(
            series
            for series in self._reader.series
            if fnmatchcase(series.metric.name, metric)
            and (device is None or fnmatchcase(series.device, device))
        )

    def samples(
        self, series: Sequence[Series], within: TimeRange = EVER
    ) -> tuple[Instants, Floats]:
        """Instants, and values as (series, tick); NaN if not measured."""
        return self._reader.samples([each.key for each in series], within)

    def estimated_samples(self, within: TimeRange = EVER) -> float:
        """About how many instants with samples a time range has, without reading them."""
        return self._reader.estimated_rows(within)

    def buckets(
        self, series: Sequence[Series], max_buckets: int, within: TimeRange = EVER
    ) -> Rollup:
        """Up to `max_buckets` buckets over a time range, from roll-ups."""
        width_ns = bucket_width_ns(self._span_ns(within), max_buckets)
        return self._reader.rollup(width_ns, [each.key for each in series], within)

    def _span_ns(self, within: TimeRange) -> int:
        extent = self.extent
        if extent is None:
            return 0
        start_ns = extent.first_ns if within.start_ns is None else within.start_ns
        end_ns = extent.last_ns if within.end_ns is None else within.end_ns
        return max(0, end_ns - start_ns)


def bucket_width_ns(span_ns: int, max_buckets: int) -> int:
    """The narrowest width for which a time span needs at most `max_buckets` buckets."""
    for width in _WIDTHS_SECONDS:
        # a span that does not start at a bucket's edge overlaps one more
        if span_ns / (width * NANOSECONDS) <= max(1, max_buckets - 1):
            return int(width * NANOSECONDS)
    days = -(-span_ns // (max(1, max_buckets - 1) * 86_400 * NANOSECONDS))
    return int(days) * 86_400 * NANOSECONDS
