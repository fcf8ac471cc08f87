"""Reads all segments of one family in one folder, as they are at this moment.

A reader is refreshed to see what has grown since; what it has decoded already is not decoded again.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sonde.errors import DamagedError, KeyMissingError
from sonde.records.metric import Series
from sonde.records.ranges import EVER, TimeRange
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts
from sonde.store.format import Family
from sonde.store.layout import LIVE_SUFFIX, MANIFEST_SUFFIX, SegmentName
from sonde.store.manifest import Extent, Manifest
from sonde.store.rollups import Rollup, join
from sonde.store.segments import LiveSegment, Samples, SealedSegment, Segment
from sonde.store.tables import schema_of


class FolderReader:
    """All segments of one family in one folder, in order of time."""

    def __init__(self, backend: Backend, folder: str, family: Family) -> None:
        self.segments: tuple[Segment, ...] = ()
        self._backend = backend
        self._folder = f"{folder}/{family.name}"
        self._family = family
        self._known: dict[str, Segment] = {}
        self._damaged_manifests: dict[str, str] = {}

    def refresh(self) -> None:
        """Looks at the store again."""
        sizes = {entry.key: entry.size for entry in self._backend.entries(self._folder)}
        sealed = self._sealed([key for key in sizes if key.endswith(MANIFEST_SUFFIX)])
        # a merged segment stands for its parts, whether those are deleted yet or not
        owners: dict[str, SealedSegment] = {}
        for one in sorted(sealed, key=lambda one: len(one.parts)):
            owners.update({part.segment: one for part in one.parts})
        current: dict[str, Segment] = {one.name: one for one in owners.values()}
        for key, size in sizes.items():
            name = _name_of(key, LIVE_SUFFIX)
            if name and name not in owners:
                live = self._live(name, key, size)
                if live is not None:
                    current[name] = live
        self._known = current
        self.segments = tuple(current[name] for name in sorted(current))

    @property
    def damages(self) -> list[str]:
        """What was found damaged so far."""
        found = list(self._damaged_manifests.values())
        for segment in self.segments:
            found += segment.damages
            if isinstance(segment, SealedSegment) and segment.manifest.damaged_frames:
                found.append(
                    f"{self._folder}/{segment.name}: "
                    f"{segment.manifest.damaged_frames} frames were damaged when it was sealed"
                )
        return found

    @property
    def series(self) -> tuple[Series, ...]:
        """Every series that any segment holds, in order of appearance."""
        return tuple({one.key: one for part in self.segments for one in part.series}.values())

    @property
    def extent(self) -> Extent | None:
        """The extent of all segments, if there is any row."""
        extents = [part.extent for part in self.segments if part.extent is not None]
        if not extents:
            return None
        return Extent(
            sum(extent.rows for extent in extents),
            min(extent.first_ns for extent in extents),
            max(extent.last_ns for extent in extents),
        )

    def samples(self, keys: Sequence[str], within: TimeRange = EVER) -> Samples:
        """Instants in a range, in order, and values as (series, tick)."""
        found = [segment.samples(keys, within) for segment in self._touching(within)]
        if not found:
            return np.empty(0, dtype=np.int64), np.empty((len(keys), 0), dtype=np.float32)
        if len(found) == 1:
            times, values = found[0]
        else:
            times = np.concatenate([times for times, _ in found])
            values = np.concatenate([values for _, values in found], axis=1)
        if np.all(times[1:] >= times[:-1]):
            return times, values
        order = np.argsort(times, kind="stable")
        return times[order], values[:, order]

    def rows(self, within: TimeRange = EVER) -> pa.Table:
        """The rows of all segments in a time range, in the order they were written."""
        tables = [segment.rows(within) for segment in self._touching(within)]
        if not tables:
            return schema_of(self._family).empty_table()
        return pa.concat_tables(tables).unify_dictionaries().combine_chunks()

    def rollup(self, width_ns: int, keys: Sequence[str], within: TimeRange = EVER) -> Rollup:
        """Buckets of one width over all segments; those that touch the range."""
        found = [segment.rollup(width_ns, keys, within) for segment in self._touching(within)]
        return join(found, width_ns, len(keys)).within(within)

    def _touching(self, within: TimeRange) -> list[Segment]:
        return [
            segment
            for segment in self.segments
            if segment.extent is not None
            and within.overlaps(segment.extent.first_ns, segment.extent.last_ns)
        ]

    def _sealed(self, keys: list[str]) -> list[SealedSegment]:
        sealed = []
        for key in keys:
            name = _name_of(key, MANIFEST_SUFFIX)
            known = self._known.get(name)
            if isinstance(known, SealedSegment):
                sealed.append(known)
                continue
            try:
                manifest = decode_facts(Manifest, self._backend.read(key), key)
            except KeyMissingError:  # merged into another one while we looked
                continue
            except DamagedError as error:
                self._damaged_manifests[key] = str(error)
                continue
            sealed.append(SealedSegment(self._backend, manifest, self._family))
        return sealed

    def _live(self, name: str, key: str, size: int) -> LiveSegment | None:
        known = self._known.get(name)
        live = known if isinstance(known, LiveSegment) else None
        live = live or LiveSegment(self._backend, key, self._family)
        try:
            live.refresh(size)
        except KeyMissingError:  # sealed while we looked; the next refresh finds it
            return None
        return live


def _name_of(key: str, suffix: str) -> str:
    """The segment that a key with that suffix belongs to, or nothing."""
    stem = key.rpartition("/")[2].removesuffix(suffix)
    return stem if key.endswith(suffix) and SegmentName.parse(stem) else ""
