"""Seal closed segments as Parquet with roll-ups, and merge small segments into larger ones.

The result, including names, depends only on the rows: two processes that seal the same segment
write the same bytes, so concurrent sealing is safe.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.errors import KeyMissingError
from sonde.records.metric import Series
from sonde.records.ranges import EVER
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts
from sonde.store.format import Family
from sonde.store.layout import (
    MANIFEST_SUFFIX,
    ROLLUP_SUFFIX,
    SEALED_SUFFIX,
    SegmentName,
)
from sonde.store.manifest import Manifest, RollupBlock
from sonde.store.parquet import ROW_GROUP_ROWS, repetitive_columns, write_parquet
from sonde.store.reader import MAX_ATTEMPTS, FolderReader
from sonde.store.rollups import Floats, Instants, Rollup, pyramid_widths, roll_up
from sonde.store.segments import LiveSegment, SealedSegment, Segment
from sonde.store.tables import ALL_ROWS, extent_of, rollup_table, samples_table

# Six segments of ten minutes are merged into one hour, six of those into six hours, and so on. So
# a day is a handful of files, and every row is rewritten only a few times.
_MERGE_FACTOR = 6

# Roll-up blocks are small enough to read one series in well under a millisecond.
_BLOCK_SERIES = 16
_BLOCK_BUCKETS = 4096


@dataclass(frozen=True, slots=True)
class FamilyFolder:
    """The folder with the segments of one family."""

    backend: Backend
    folder: str
    family: Family

    def key(self, segment: str, suffix: str) -> str:
        """The key of a segment's file."""
        return f"{self.folder}/{self.family.name}/{segment}{suffix}"


def seal_folder(folder: FamilyFolder, *, is_over: bool, merge_all: bool = False) -> int:
    """Seal closed segments and merge small ones; returns the number of segments written.

    Args:
        folder: The folder.
        is_over: Whether the writer has ended, so that its newest segment is closed, too.
        merge_all: Whether to merge everything into one segment.
    """
    reader = FolderReader(folder.backend, folder.folder, folder.family)
    reader.refresh()
    folder.backend.delete(reader.superseded)
    closed = [
        segment
        for segment in _closed(reader.segments, is_over=is_over)
        if segment.extent is not None
    ]
    written = sum(_seal(folder, segment.name, [segment]) for segment in closed)
    # each refusal is a damaged segment, or a conflict with another process
    refusals_left = len(reader.segments) + MAX_ATTEMPTS
    while refusals_left:
        reader.refresh()
        group = _next_merge([s for s in reader.segments if isinstance(s, SealedSegment)], merge_all)
        if not group:
            break
        is_merged = _merge(folder, group)
        written += is_merged
        refusals_left -= not is_merged
    return written


def _closed(segments: Sequence[Segment], *, is_over: bool) -> Iterator[LiveSegment]:
    """Live segments that no longer grow: all but the newest of each writer, or all."""
    newest: dict[str, str] = {}
    for segment in segments:
        name = SegmentName.parse(segment.name)
        if isinstance(segment, LiveSegment) and name is not None:
            newest[name.writer] = segment.name
    for segment in segments:
        if isinstance(segment, LiveSegment) and (is_over or segment.name not in newest.values()):
            yield segment


def _next_merge(sealed: Sequence[SealedSegment], merge_all: bool) -> list[SealedSegment]:
    """The segments to merge next: all, or the first six consecutive ones of the same level."""
    intact = [
        segment for segment in sealed if segment.manifest.raw is not None and not segment.damages
    ]
    if merge_all:
        return intact if len(intact) > 1 else []
    for first in range(len(intact) - _MERGE_FACTOR + 1):
        group = intact[first : first + _MERGE_FACTOR]
        levels = {_level(segment) for segment in group}
        if len(levels) == 1:
            return group
    return []


def _level(segment: SealedSegment) -> int:
    count = len(segment.parts)
    level = 0
    while count >= _MERGE_FACTOR:
        count //= _MERGE_FACTOR
        level += 1
    return level


def _merged_name(group: Sequence[SealedSegment]) -> str:
    first = SegmentName.parse(group[0].name)
    assert first is not None
    writer = first.writer.partition("-")[0]
    return str(
        SegmentName(first.start_ns, f"{writer}-{sum(len(segment.parts) for segment in group)}")
    )


def _merge(folder: FamilyFolder, group: Sequence[SealedSegment]) -> bool:
    """Merge segments, unless another process has just done so."""
    try:
        return _seal(folder, _merged_name(group), group)
    except KeyMissingError:
        return False


def _seal(folder: FamilyFolder, name: str, group: Sequence[Segment]) -> bool:
    """Write one sealed segment, its manifest last, and then remove its sources.

    Damaged sealed segments are not merged: their checksums locate the damage.
    """
    raw_key = folder.key(name, SEALED_SUFFIX)
    if folder.family.is_matrix:
        series = _union(group)
        times, values = _samples(group, series)
        tables = list(_row_groups(samples_table(series, times, values)))
        blocks = list(_pyramid(times, values))
    else:
        series, blocks = (), []
        tables = list(_row_groups(pa.concat_tables([segment.rows(ALL_ROWS) for segment in group])))
    if any(isinstance(segment, SealedSegment) and segment.damages for segment in group):
        return False
    raw, raw_seal = write_parquet(raw_key, tables, repetitive_columns(tables))
    folder.backend.write(raw_key, raw)
    rollup_seal = None
    if blocks:
        rollup_key = folder.key(name, ROLLUP_SUFFIX)
        tables_of_blocks = (rollup_table(_series_in(series, block), r) for block, r in blocks)
        data, rollup_seal = write_parquet(rollup_key, tables_of_blocks)
        folder.backend.write(rollup_key, data)
    manifest = Manifest(
        segment=name,
        family=folder.family.name,
        extent=extent_of(folder.family, pa.concat_tables(tables)),
        row_groups=tuple(extent_of(folder.family, table) for table in tables),
        parts=tuple(source for segment in group for source in segment.parts),
        series=series,
        raw=raw_seal,
        rollup=rollup_seal,
        rollup_blocks=tuple(block for block, _ in blocks),
        damaged_frames=sum(_damaged_frames(segment) for segment in group),
    )
    manifest_key = folder.key(name, MANIFEST_SUFFIX)
    folder.backend.write(manifest_key, encode_facts(manifest, manifest_key))
    _remove(folder, group)
    return True


def _remove(folder: FamilyFolder, group: Sequence[Segment]) -> None:
    """Remove manifests before their files, so that readers do not report a merge as damage."""
    folder.backend.delete(segment.key for segment in group)
    sealed = [segment.name for segment in group if isinstance(segment, SealedSegment)]
    folder.backend.delete(
        folder.key(name, suffix) for name in sealed for suffix in (ROLLUP_SUFFIX, SEALED_SUFFIX)
    )


def _union(group: Sequence[Segment]) -> tuple[Series, ...]:
    return tuple({series.key: series for segment in group for series in segment.series}.values())


def _samples(group: Sequence[Segment], series: Sequence[Series]) -> tuple[Instants, Floats]:
    keys = [each.key for each in series]
    samples = [segment.samples(keys, EVER) for segment in group]
    times = np.concatenate([times for times, _ in samples])
    values = np.concatenate([values for _, values in samples], axis=1)
    return times, values


def _pyramid(times: Instants, values: Floats) -> Iterator[tuple[RollupBlock, Rollup]]:
    """All roll-up levels, divided into blocks."""
    if not np.all(times[1:] >= times[:-1]):
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[:, order]
    for width_ns in pyramid_widths(times):
        level = roll_up(times, values, width_ns)
        for bucket in range(0, len(level.starts_ns), _BLOCK_BUCKETS):
            block = level.cut(slice(bucket, bucket + _BLOCK_BUCKETS))
            starts = block.starts_ns
            for first in range(0, len(values), _BLOCK_SERIES):
                rollup = block.select(range(first, min(first + _BLOCK_SERIES, len(values))))
                yield (
                    RollupBlock(
                        width_ns=width_ns,
                        first_series=first,
                        series=len(rollup.mean),
                        buckets=len(starts),
                        first_ns=int(starts[0]),
                        last_ns=int(starts[-1]) + width_ns,
                    ),
                    rollup,
                )


def _series_in(series: Sequence[Series], block: RollupBlock) -> Sequence[Series]:
    return series[block.first_series : block.first_series + block.series]


def _row_groups(table: pa.Table) -> Iterator[pa.Table]:
    for first in range(0, table.num_rows, ROW_GROUP_ROWS):
        yield table.slice(first, ROW_GROUP_ROWS).combine_chunks()


def _damaged_frames(segment: Segment) -> int:
    before = segment.manifest.damaged_frames if isinstance(segment, SealedSegment) else 0
    return before + len(segment.damages)
