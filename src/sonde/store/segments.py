"""Sealed segments. Damaged data is skipped and reported."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.bounded_cache import BoundedCache, byte_cache
from sonde.errors import DamagedError, KeyMissingError
from sonde.formats import format_count
from sonde.records.ranges import TimeRange
from sonde.store.backends import Backend, Entry
from sonde.store.damage import DAMAGED, MISSING
from sonde.store.facts import decode_facts
from sonde.store.format import Family
from sonde.store.live import LiveSegment, Samples, rows_of
from sonde.store.manifest import Extent, Manifest, RollupBlock, SealedFile
from sonde.store.parquet import ParquetFile
from sonde.store.rollups import Floats, Rollup, blank, coarsen, join, roll_up
from sonde.store.tables import (
    ROLLUP_COLUMNS,
    ROLLUP_TYPES,
    RowQuery,
    check_texts,
    column_types,
    empty_table,
    inside_of,
    rollup_of,
    rows_in,
    samples_table,
    to_numpy,
    view_of,
)

# Cache of roll-up blocks per segment: all levels of a day of 120 series.
_MAX_BLOCK_BYTES = 64 << 20


class SealedSegment:
    """An immutable segment.

    It may be merged into another one, or lose its raw data to the disk budget. Then reading raises
    KeyMissingError, and the caller must list the store again.
    """

    def __init__(
        self,
        backend: Backend,
        key: str,
        manifest: Manifest,
        family: Family,
        decoded: BoundedCache[Any] | None = None,
    ) -> None:
        self.key = key
        self.name = manifest.segment
        self.manifest = manifest
        self.series = manifest.series
        self.extent = manifest.extent
        self.parts = manifest.parts
        self.damages: list[str] = []
        self._backend = backend
        self._family = family
        self._files: dict[str, ParquetFile] = {}
        self._decoded = decoded
        self._blocks = byte_cache(_MAX_BLOCK_BYTES)

    def samples(self, keys: Sequence[str], within: TimeRange) -> Samples:
        """Instants in a range, and values as (series, tick); NaN for missing series."""
        table = self._read(RowQuery(within), ["time_ns", *keys])
        times = to_numpy(table["time_ns"])
        indices = np.flatnonzero(inside_of(times, within.start_ns, within.end_ns))
        if len(indices) and int(indices[-1] - indices[0]) == len(indices) - 1:  # the common case
            times = times[indices[0] : indices[-1] + 1]
            table, indices = table.slice(int(indices[0]), len(indices)), np.arange(len(indices))
        values = np.empty((len(keys), len(times)), dtype=np.float32)
        names = set(table.column_names)
        for position, key in enumerate(keys):
            if key in names:
                _copy(table[key], values[position])
            else:
                values[position] = np.nan
        is_all = len(indices) == len(times)
        return (times, values) if is_all else (times[indices], values[:, indices])

    def rows(self, query: RowQuery) -> pa.Table:
        """The rows that match a query; damaged row groups are skipped and reported."""
        table = self._read(query, query.columns_to_read(self._family))
        return rows_in(self._family, table, query)

    def rollup(self, width_ns: int, keys: Sequence[str], within: TimeRange) -> Rollup:
        """Buckets from the widest stored level that divides the width, else from raw data."""
        fitting = [level for level in self._levels if width_ns % level == 0]
        if not fitting and self.manifest.raw is not None:
            return roll_up(*self.samples(keys, within), width_ns)
        if not fitting:
            return join((), width_ns, len(keys))
        level = max(fitting)
        numbers_by_start: dict[int, list[int]] = {}
        for number, block in enumerate(self.manifest.rollup_blocks):
            if block.width_ns == level and within.overlaps(block.first_ns, block.last_ns):
                numbers_by_start.setdefault(block.first_ns, []).append(number)
        rows = rows_of(keys, self.series)
        rollups = [
            self._combine_blocks(numbers, rows, within) for numbers in numbers_by_start.values()
        ]
        joined = join([rollup for rollup in rollups if rollup is not None], level, len(keys))
        return joined if level == width_ns else coarsen(joined, width_ns)

    def min_width_ns(self, width_ns: int) -> int:
        """The narrowest available width of at least `width_ns`."""
        is_known = self.manifest.raw is not None or not self._levels
        if is_known or any(width_ns % level == 0 for level in self._levels):
            return width_ns
        level = min(self._levels)
        return -(-width_ns // level) * level

    @property
    def _levels(self) -> set[int]:
        return {block.width_ns for block in self.manifest.rollup_blocks}

    def _read(self, query: RowQuery, columns: Sequence[str] | None) -> pa.Table:
        groups = [
            number
            for number, group in enumerate(self.manifest.row_groups)
            if group.overlaps(query.within, query.steps)
        ]
        table = self._read_groups(self.manifest.raw, groups, columns) if groups else None
        if table is None:  # damaged: read group by group to lose as little as possible
            tables = [self._read_intact(group, columns) for group in groups]
            intact = [each for each in tables if each is not None]
            table = pa.concat_tables(intact, promote_options="default") if intact else None
        if table is None and self._family.is_matrix:
            return samples_table((), np.empty(0, dtype=np.int64), np.empty((0, 0), np.float32))
        if table is not None:
            return table
        return empty_table(self._family).select(columns or [n for n, _ in self._family.columns])

    def _read_intact(self, group: int, columns: Sequence[str] | None) -> pa.Table | None:
        """One row group: every intact series of samples; all or no rows of other families."""
        raw = self.manifest.raw
        if columns is None or not self._family.is_matrix:
            return self._read_groups(raw, [group], columns)
        table = self._read_groups(raw, [group], ["time_ns"])
        if table is not None:
            for key in columns:
                column = self._read_groups(raw, [group], [key]) if key != "time_ns" else None
                if column is not None and column.num_columns:
                    table = table.append_column(key, column[key])
        return table

    def _combine_blocks(
        self, numbers: list[int], rows: Sequence[int], within: TimeRange
    ) -> Rollup | None:
        """Combine the blocks of one time range."""
        merged: Rollup | None = None
        for number in numbers:
            block = self.manifest.rollup_blocks[number]
            last = block.first_series + block.series
            block_rows = [
                index for index, row in enumerate(rows) if block.first_series <= row < last
            ]
            if not block_rows:
                continue
            block_rollup = self._block(number)
            if block_rollup is None:
                continue
            rollup = block_rollup.within(within)
            if merged is None:
                merged = blank(block.width_ns, rollup.starts_ns, len(rows))
            merged.fill(
                block_rows, rollup, [rows[index] - block.first_series for index in block_rows]
            )
        return merged

    def _block(self, number: int) -> Rollup | None:
        """One roll-up block, cached after decoding; None if it is damaged."""
        rollup: Rollup | None = self._blocks.get(number)
        if rollup is None:
            columns = ("start_ns", *ROLLUP_COLUMNS)
            table = self._read_groups(self.manifest.rollup, [number], columns)
            if table is None:
                return None
            block = self.manifest.rollup_blocks[number]
            if block.series < 1 or table.num_rows != block.series * block.buckets:
                assert self.manifest.rollup is not None
                text = f"{self.manifest.rollup.key} is damaged: block {number} is incomplete"
                self._report_damage(self.manifest.rollup, [number], text)
                return None
            rollup = rollup_of(table, block.width_ns, block.series)
            self._blocks.put(number, rollup)
        return rollup

    def _read_groups(
        self, seal: SealedFile | None, groups: Sequence[int], columns: Sequence[str] | None
    ) -> pa.Table | None:
        """Row groups of a file; None if it is missing or damaged, which is reported.

        Raises:
            KeyMissingError: The segment was replaced.
        """
        if seal is None:
            return None
        try:
            if seal.key not in self._files:
                is_raw = seal is self.manifest.raw
                cache, types = (self._decoded, self._types) if is_raw else (None, ROLLUP_TYPES)
                self._files[seal.key] = ParquetFile(
                    self._backend.view(seal.key), seal, cache, types
                )
            return check_texts(self._files[seal.key].read(groups, columns), seal.key)
        except DamagedError as error:
            self._report_damage(seal, groups, str(error))
            return None
        except KeyMissingError:
            if self._is_replaced():
                raise
            self._report_damage(seal, (), f"{seal.key} is missing", MISSING)
            return None

    def check_files(self, entries: Mapping[str, Entry]) -> None:
        """Report missing files and files with a wrong size."""
        for seal in (self.manifest.raw, self.manifest.rollup):
            if seal is None:
                continue
            entry = entries.get(seal.key)
            if entry is None and not self._is_replaced():
                self._report_damage(seal, (), f"{seal.key} is missing", MISSING)
            elif entry is not None and entry.size != seal.size:
                self._report_damage(
                    seal,
                    (),
                    f"{seal.key} is damaged: {format_count(entry.size)} of "
                    f"{format_count(seal.size)} bytes",
                )

    def _report_damage(
        self, seal: SealedFile, groups: Sequence[int], text: str, reason: str = DAMAGED
    ) -> None:
        """Report damage with the time range of the lost data."""
        if text not in self.damages:
            self.damages.append(text)
        extents: Sequence[Extent | RollupBlock] = self.manifest.row_groups
        if seal is self.manifest.rollup:
            extents = self.manifest.rollup_blocks
        lost = [extents[group] for group in groups if group < len(extents)]
        first_ns = min((extent.first_ns for extent in lost), default=self.extent.first_ns)
        last_ns = max((extent.last_ns for extent in lost), default=self.extent.last_ns)
        self._backend.ledger.report(seal.key, text, (first_ns, last_ns), reason)

    @property
    def _types(self) -> Mapping[str, pa.DataType]:
        return column_types(self._family, self.series)

    def _is_replaced(self) -> bool:
        try:
            return decode_facts(Manifest, self._backend.read(self.key), self.key) != self.manifest
        except KeyMissingError:
            return True
        except DamagedError:
            return False


Segment = LiveSegment | SealedSegment

__all__ = ["LiveSegment", "Samples", "SealedSegment", "Segment"]


def _copy(column: pa.ChunkedArray, target: Floats) -> None:
    """Copy a column chunk by chunk."""
    first = 0
    for chunk in column.chunks:
        target[first : first + len(chunk)] = view_of(chunk)
        first += len(chunk)
