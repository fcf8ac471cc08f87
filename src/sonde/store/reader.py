"""Read all segments of one family in one folder.

Refreshing a reader makes new data visible; decoded data is cached. Other processes may seal, merge
and remove segments meanwhile: then the reader lists the folder again.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sonde.bounded_cache import BoundedCache
from sonde.errors import DamagedError, KeyMissingError
from sonde.formats import pluralize
from sonde.records.metric import Series
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.store.backends import Backend, Entry
from sonde.store.facts import decode_facts
from sonde.store.format import Family
from sonde.store.layout import (
    LIVE_SUFFIX,
    MANIFEST_SUFFIX,
    ROLLUP_SUFFIX,
    SEALED_SUFFIX,
    SegmentName,
)
from sonde.store.manifest import Extent, Manifest
from sonde.store.rollups import Rollup, join
from sonde.store.segments import LiveSegment, Samples, SealedSegment, Segment
from sonde.store.tables import RowQuery, empty_table

Result = TypeVar("Result")

# Sealing and merging happen minutes apart, so even two conflicts in a row are unlikely.
MAX_ATTEMPTS = 4


class FolderReader:
    """All segments of one family in one folder, in order of time."""

    def __init__(
        self,
        backend: Backend,
        folder: str,
        family: Family,
        decoded: BoundedCache[Any] | None = None,
    ) -> None:
        self.segments: tuple[Segment, ...] = ()
        self.superseded: tuple[str, ...] = ()  # keys replaced by a merged segment
        self._backend = backend
        self._folder = f"{folder}/{family.name}"
        self._family = family
        self._decoded = decoded
        self._live_segments: dict[str, LiveSegment] = {}
        self._sealed_segments: dict[Entry, SealedSegment] = {}
        self._damaged_manifests: dict[str, str] = {}

    def refresh(self) -> None:
        """List the folder again."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return self._list()
            except KeyMissingError:  # sealed or merged meanwhile
                continue
        return self._list()

    @property
    def damages(self) -> list[str]:
        """Damage found so far."""
        texts = list(self._damaged_manifests.values())
        for segment in self.segments:
            texts += segment.damages
            if isinstance(segment, SealedSegment) and (text := self._damaged_frames(segment)):
                texts.append(text)
        return texts

    @property
    def series(self) -> tuple[Series, ...]:
        """All series of all segments, in order of appearance."""
        return tuple(
            {series.key: series for segment in self.segments for series in segment.series}.values()
        )

    @property
    def extent(self) -> Extent | None:
        """The extent of all segments; None without rows."""
        extents = [segment.extent for segment in self.segments if segment.extent is not None]
        if not extents:
            return None
        return Extent(
            sum(extent.rows for extent in extents),
            min(extent.first_ns for extent in extents),
            max(extent.last_ns for extent in extents),
        )

    def estimated_rows(self, within: TimeRange = EVER) -> float:
        """About how many rows a range has, as if the rows of a segment were evenly distributed."""
        total = 0.0
        for segment in self._overlapping(within):
            extent = segment.extent
            if extent is None:
                continue
            start_ns = max(extent.first_ns, within.start_ns or extent.first_ns)
            end_ns = extent.last_ns if within.end_ns is None else min(extent.last_ns, within.end_ns)
            span_ns = max(1, extent.last_ns - extent.first_ns)
            total += extent.rows * min(1.0, max(0, end_ns - start_ns + 1) / span_ns)
        return total

    def samples(self, keys: Sequence[str], within: TimeRange = EVER) -> Samples:
        """Instants in a range, in order, and values as (series, tick)."""
        segments = self._query(within, lambda segment: segment.samples(keys, within))
        if not segments:
            return np.empty(0, dtype=np.int64), np.empty((len(keys), 0), dtype=np.float32)
        if len(segments) == 1:
            times, values = segments[0]
        else:
            times = np.concatenate([times for times, _ in segments])
            values = np.concatenate([values for _, values in segments], axis=1)
        if np.all(times[1:] >= times[:-1]):
            return times, values
        order = np.argsort(times, kind="stable")
        return times[order], values[:, order]

    def rows(
        self,
        within: TimeRange = EVER,
        steps: StepRange = ANY_STEP,
        columns: Sequence[str] | None = None,
        only: Mapping[str, Container[str]] | None = None,
    ) -> pa.Table:
        """The rows of all segments, in order of writing.

        Args:
            within: The time range.
            steps: The range of steps.
            columns: The columns to decode; all by default.
            only: The allowed texts by column.
        """
        query = RowQuery(within, steps, None if columns is None else tuple(columns), only or {})
        tables = self._query(within, lambda segment: segment.rows(query))
        if not tables:
            table = empty_table(self._family)
            return table if columns is None else table.select(list(columns))
        return pa.concat_tables(tables).unify_dictionaries().combine_chunks()

    def rollup(self, width_ns: int, keys: Sequence[str], within: TimeRange = EVER) -> Rollup:
        """Buckets of one width over all segments that overlap the range.

        Buckets are wider than requested if a segment only has a coarser level left.
        """
        for segment in self._overlapping(within):
            if isinstance(segment, SealedSegment):
                width_ns = max(width_ns, segment.min_width_ns(width_ns))
        bucket_range = _whole_buckets(within, width_ns)
        rollups = self._query(
            bucket_range, lambda segment: segment.rollup(width_ns, keys, bucket_range)
        )
        return join(rollups, width_ns, len(keys)).within(within)

    def _query(self, within: TimeRange, query: Callable[[Segment], Result]) -> list[Result]:
        """The results of a query on each segment that overlaps a range, from one listing."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return [query(segment) for segment in self._overlapping(within)]
            except KeyMissingError:  # merged or removed meanwhile
                self.refresh()
        return [query(segment) for segment in self._overlapping(within)]

    def _overlapping(self, within: TimeRange) -> list[Segment]:
        return [
            segment
            for segment in self.segments
            if segment.extent is not None
            and within.overlaps(segment.extent.first_ns, segment.extent.last_ns)
        ]

    def _list(self) -> None:
        entries = {entry.key: entry for entry in self._backend.entries(self._folder)}
        self._read_manifests([entry for key, entry in entries.items() if _is_manifest(key)])
        # a merged segment replaces its sources, even before they are deleted
        owners: dict[str, SealedSegment] = {}
        for segment in sorted(
            self._sealed_segments.values(), key=lambda segment: len(segment.parts)
        ):
            owners.update({source.segment: segment for source in segment.parts})
        previous, self._live_segments = self._live_segments, {}
        for key, entry in entries.items():
            name = _name_of(key, LIVE_SUFFIX)
            if name and name not in owners:
                live = previous.get(name) or LiveSegment(self._backend, key, self._family)
                live.refresh(entry.size)
                self._live_segments[name] = live
        current: dict[str, Segment] = {segment.name: segment for segment in owners.values()}
        current |= self._live_segments
        self.segments = tuple(current[name] for name in sorted(current))
        self.superseded = tuple(key for key in entries if _is_superseded(key, owners))
        self._report(entries)

    def _report(self, entries: Mapping[str, Entry]) -> None:
        """Report missing files and files with a wrong size to the ledger."""
        self._backend.ledger.keep_only(self._folder, entries)
        for segment in self.segments:
            if isinstance(segment, SealedSegment):
                segment.check_files(entries)
                if text := self._damaged_frames(segment):
                    extent = (segment.extent.first_ns, segment.extent.last_ns)
                    self._backend.ledger.report(segment.key, text, extent)

    def _damaged_frames(self, segment: SealedSegment) -> str:
        number = segment.manifest.damaged_frames
        if not number:
            return ""
        frames = pluralize(number, "damaged frame")
        return f"{self._folder}/{segment.name}: {frames} skipped when it was sealed"

    def _read_manifests(self, entries: Sequence[Entry]) -> None:
        previous, self._sealed_segments, self._damaged_manifests = self._sealed_segments, {}, {}
        for entry in entries:
            if entry in previous:
                self._sealed_segments[entry] = previous[entry]
                continue
            try:
                manifest = decode_facts(Manifest, self._backend.read(entry.key), entry.key)
                _check_manifest(manifest, entry.key)
            except DamagedError as error:
                self._damaged_manifests[entry.key] = str(error)
                self._backend.ledger.report(entry.key, str(error))
                continue
            segment = SealedSegment(self._backend, entry.key, manifest, self._family, self._decoded)
            self._sealed_segments[entry] = segment


def _check_manifest(manifest: Manifest, key: str) -> None:
    """Raise DamagedError if a manifest belongs to another segment or names other files."""
    stem = key.removesuffix(MANIFEST_SUFFIX)
    folder, _, name = stem.rpartition("/")
    stated_keys = {
        SEALED_SUFFIX: manifest.raw.key if manifest.raw else f"{stem}{SEALED_SUFFIX}",
        ROLLUP_SUFFIX: manifest.rollup.key if manifest.rollup else f"{stem}{ROLLUP_SUFFIX}",
    }
    is_expected = manifest.segment == name and manifest.family == folder.rpartition("/")[2]
    if not is_expected or any(path != stem + suffix for suffix, path in stated_keys.items()):
        raise DamagedError(f"{key} is damaged: it belongs to another segment")


def _is_manifest(key: str) -> bool:
    return bool(_name_of(key, MANIFEST_SUFFIX))


def _name_of(key: str, *suffixes: str) -> str:
    """The segment name in a key with one of the suffixes; empty for other keys."""
    for suffix in suffixes:
        stem = key.rpartition("/")[2].removesuffix(suffix)
        if key.endswith(suffix) and SegmentName.parse(stem):
            return stem
    return ""


def _is_superseded(key: str, owners: Mapping[str, SealedSegment]) -> bool:
    """Whether a key was left over by a process that died after sealing or merging.

    A file with more sources than its current owner is kept: it may be being written.
    """
    if _name_of(key, LIVE_SUFFIX) in owners:
        return True
    stem = _name_of(key, ROLLUP_SUFFIX, SEALED_SUFFIX, MANIFEST_SUFFIX)
    name = SegmentName.parse(stem)
    if name is None:
        return False
    writer, _, count_text = name.writer.partition("-")
    owner = owners.get(str(SegmentName(name.start_ns, writer)))
    count = int(count_text) if count_text.isdecimal() else 1
    return owner is not None and owner.name != stem and count <= len(owner.parts)


def _whole_buckets(within: TimeRange, width_ns: int) -> TimeRange:
    """The range, widened to whole buckets."""
    start_ns, end_ns = within.start_ns, within.end_ns
    return TimeRange(
        None if start_ns is None else start_ns // width_ns * width_ns,
        None if end_ns is None else -(-end_ns // width_ns) * width_ns,
    )
