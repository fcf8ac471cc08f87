"""Reads all segments of one family in one folder, as they are at this moment.

A reader is refreshed to see what has grown since; what it has decoded already is not decoded again.
Others may seal, merge and thin out segments meanwhile: then it looks again.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sonde.bounded_cache import BoundedCache
from sonde.errors import DamagedError, KeyMissingError
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
from sonde.store.tables import Wanted, empty_table

Answer = TypeVar("Answer")

# Sealing and merging happen minutes apart: to be overtaken twice in a row is bad luck already.
LOOKS = 4


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
        self.superseded: tuple[str, ...] = ()  # keys that a merged segment has made needless
        self._backend = backend
        self._folder = f"{folder}/{family.name}"
        self._family = family
        self._decoded = decoded
        self._live_segments: dict[str, LiveSegment] = {}
        self._sealed_segments: dict[Entry, SealedSegment] = {}
        self._damaged_manifests: dict[str, str] = {}

    def refresh(self) -> None:
        """Looks at the store again."""
        for _ in range(LOOKS):
            try:
                return self._look()
            except KeyMissingError:  # sealed or merged while we looked
                continue
        return self._look()

    @property
    def damages(self) -> list[str]:
        """What was found damaged so far."""
        found = list(self._damaged_manifests.values())
        for segment in self.segments:
            found += segment.damages
            if isinstance(segment, SealedSegment) and (text := self._damaged_frames(segment)):
                found.append(text)
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
        found = self._ask(within, lambda segment: segment.samples(keys, within))
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

    def rows(
        self,
        within: TimeRange = EVER,
        steps: StepRange = ANY_STEP,
        columns: Sequence[str] | None = None,
        only: Mapping[str, Container[str]] | None = None,
    ) -> pa.Table:
        """The rows of all segments, in the order of writing.

        Args:
            within: A range of time.
            steps: A range of steps.
            columns: The columns that are needed; nothing else is decoded. All by default.
            only: Per column of texts, those that rows may have.
        """
        wanted = Wanted(within, steps, None if columns is None else tuple(columns), only or {})
        tables = self._ask(within, lambda segment: segment.rows(wanted))
        if not tables:
            whole = empty_table(self._family)
            return whole if columns is None else whole.select(list(columns))
        return pa.concat_tables(tables).unify_dictionaries().combine_chunks()

    def rollup(self, width_ns: int, keys: Sequence[str], within: TimeRange = EVER) -> Rollup:
        """Buckets of one width over all segments; those that touch the range.

        Wider ones than asked for, where only a coarser level is left of some segment.
        """
        for segment in self._touching(within):
            if isinstance(segment, SealedSegment):
                width_ns = max(width_ns, segment.least_width_ns(width_ns))
        whole = _whole_buckets(within, width_ns)
        found = self._ask(whole, lambda segment: segment.rollup(width_ns, keys, whole))
        return join(found, width_ns, len(keys)).within(within)

    def _ask(self, within: TimeRange, question: Callable[[Segment], Answer]) -> list[Answer]:
        """One answer from each segment that touches a range, all of the same moment."""
        for _ in range(LOOKS):
            try:
                return [question(segment) for segment in self._touching(within)]
            except KeyMissingError:  # merged or thinned out while we asked
                self.refresh()
        return [question(segment) for segment in self._touching(within)]

    def _touching(self, within: TimeRange) -> list[Segment]:
        return [
            segment
            for segment in self.segments
            if segment.extent is not None
            and within.overlaps(segment.extent.first_ns, segment.extent.last_ns)
        ]

    def _look(self) -> None:
        entries = {entry.key: entry for entry in self._backend.entries(self._folder)}
        self._read_manifests([entry for key, entry in entries.items() if _is_manifest(key)])
        # a merged segment stands for its parts, whether those are deleted yet or not
        owners: dict[str, SealedSegment] = {}
        for one in sorted(self._sealed_segments.values(), key=lambda one: len(one.parts)):
            owners.update({part.segment: one for part in one.parts})
        known, self._live_segments = self._live_segments, {}
        for key, entry in entries.items():
            name = _name_of(key, LIVE_SUFFIX)
            if name and name not in owners:
                live = known.get(name) or LiveSegment(self._backend, key, self._family)
                live.refresh(entry.size)
                self._live_segments[name] = live
        current: dict[str, Segment] = {one.name: one for one in owners.values()}
        current |= self._live_segments
        self.segments = tuple(current[name] for name in sorted(current))
        self.superseded = tuple(key for key in entries if _is_superseded(key, owners))
        self._report(entries)

    def _report(self, entries: Mapping[str, Entry]) -> None:
        """Tells the ledger what a listing shows: files that are gone or of another size."""
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
        return f"{self._folder}/{segment.name}: {number} frames were damaged when it was sealed"

    def _read_manifests(self, entries: Sequence[Entry]) -> None:
        known, self._sealed_segments, self._damaged_manifests = self._sealed_segments, {}, {}
        for entry in entries:
            if entry in known:
                self._sealed_segments[entry] = known[entry]
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
    """Raises where a manifest speaks of another segment, or of files outside of its folder."""
    stem = key.removesuffix(MANIFEST_SUFFIX)
    folder, _, name = stem.rpartition("/")
    stated = {
        SEALED_SUFFIX: manifest.raw.key if manifest.raw else f"{stem}{SEALED_SUFFIX}",
        ROLLUP_SUFFIX: manifest.rollup.key if manifest.rollup else f"{stem}{ROLLUP_SUFFIX}",
    }
    is_right = manifest.segment == name and manifest.family == folder.rpartition("/")[2]
    if not is_right or any(place != stem + suffix for suffix, place in stated.items()):
        raise DamagedError(f"{key} is damaged: it speaks of another segment")


def _is_manifest(key: str) -> bool:
    return bool(_name_of(key, MANIFEST_SUFFIX))


def _name_of(key: str, *suffixes: str) -> str:
    """The segment that a key with one of those suffixes belongs to, or nothing."""
    for suffix in suffixes:
        stem = key.rpartition("/")[2].removesuffix(suffix)
        if key.endswith(suffix) and SegmentName.parse(stem):
            return stem
    return ""


def _is_superseded(key: str, owners: Mapping[str, SealedSegment]) -> bool:
    """Whether a key was left behind by a process that died after it had sealed or merged.

    A file of more parts than their present owner has is left alone: somebody may be at it.
    """
    if _name_of(key, LIVE_SUFFIX) in owners:
        return True
    stem = _name_of(key, ROLLUP_SUFFIX, SEALED_SUFFIX, MANIFEST_SUFFIX)
    name = SegmentName.parse(stem)
    if name is None:
        return False
    writer, _, parts = name.writer.partition("-")
    owner = owners.get(str(SegmentName(name.start_ns, writer)))
    count = int(parts) if parts.isdecimal() else 1
    return owner is not None and owner.name != stem and count <= len(owner.parts)


def _whole_buckets(within: TimeRange, width_ns: int) -> TimeRange:
    """The range widened to whole buckets, so that those at its edges hold all their samples."""
    start_ns, end_ns = within.start_ns, within.end_ns
    return TimeRange(
        None if start_ns is None else start_ns // width_ns * width_ns,
        None if end_ns is None else -(-end_ns // width_ns) * width_ns,
    )
