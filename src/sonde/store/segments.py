"""One segment, live or sealed: what can be read of it at this moment.

Tolerates a torn tail, leaves out what is damaged and notes it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.errors import DamagedError, KeyMissingError
from sonde.records.metric import MetricInfo, Series
from sonde.records.ranges import TimeRange
from sonde.store.backends import Backend
from sonde.store.decode import decode_rows, decode_samples
from sonde.store.decoded import Decoded
from sonde.store.facts import decode_facts
from sonde.store.format import Family, refuse_newer_format
from sonde.store.frames import FrameKind, FrameScan
from sonde.store.layout import LIVE_SUFFIX
from sonde.store.manifest import Extent, Manifest, Part, SealedFile
from sonde.store.parquet import ParquetFile
from sonde.store.rollups import Floats, Instants, Rollup, blank, coarsen, join, roll_up
from sonde.store.tables import (
    ROLLUP_COLUMNS,
    Wanted,
    empty_table,
    inside_of,
    rollup_of,
    rows_in,
    rows_table,
    samples_table,
    to_numpy,
    view_of,
)

Samples = tuple[Instants, Floats]

# Blocks of the pyramid that one segment keeps: all levels of a day of 120 series.
_MOST_BLOCK_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that were written after each other."""

    table: pa.Table
    first_ns: int
    last_ns: int


class LiveSegment:
    """A segment that may still grow; what was decoded is kept."""

    def __init__(self, backend: Backend, key: str, family: Family) -> None:
        self.name = key.rpartition("/")[2].removesuffix(LIVE_SUFFIX)
        self.key = key
        self.series: tuple[Series, ...] = ()
        self._damages: dict[int, str] = {}  # by where they begin
        self._backend = backend
        self._family = family
        self._end = 0
        self._has_schema = False
        self._tables: list[_Rows] = []  # each at least twice as long as the next
        self._times: Instants = np.empty(0, dtype=np.int64)
        self._values: Floats = np.empty((0, 0), dtype=np.float32)

    @property
    def damages(self) -> list[str]:
        """What was found damaged so far."""
        return list(self._damages.values())

    @property
    def extent(self) -> Extent | None:
        """The extent of what is readable so far, if anything is."""
        if self._tables:
            firsts, lasts = (
                [one.first_ns for one in self._tables],
                [one.last_ns for one in self._tables],
            )
            return Extent(self._rows, min(firsts), max(lasts))
        if not len(self._times):
            return None
        return Extent(self._rows, int(self._times.min()), int(self._times.max()))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Itself: a live segment is made of no others."""
        return (Part(self.name, self._rows),)

    def refresh(self, size: int) -> None:
        """Decodes what was appended since the last time."""
        if size <= self._end:
            return
        scan = FrameScan(self._backend.read(self.key, self._end), self._end)
        batches = []
        for frame in scan:
            if frame.kind is FrameKind.SCHEMA:
                self._read_schema(frame.payload)
            elif self._has_schema:
                batches.append(frame.payload)
        if batches and self._family.is_matrix:
            self._add_samples([decode_samples(payload) for payload in batches])
        elif batches:
            self._add_rows([rows_table(self._family, decode_rows(one)) for one in batches])
        for damage in scan.damages:
            text = f"{self.key} is damaged at byte {damage.offset}: {damage.reason}"
            self._damages.setdefault(damage.offset, text)
        self._end = scan.end

    def samples(self, keys: Sequence[str], within: TimeRange) -> Samples:
        """Instants in a range, and values as (series, tick); NaN for series it does not have."""
        inside = inside_of(self._times, within.start_ns, within.end_ns)
        rows = _rows_of(keys, self.series)
        values = np.full((len(keys), int(inside.sum())), np.nan, dtype=np.float32)
        for position, row in enumerate(rows):
            if row >= 0:
                values[position] = self._values[row, inside]
        return self._times[inside], values

    def rows(self, wanted: Wanted) -> pa.Table:
        """Some rows, in the order they were written."""
        within = wanted.within
        touched = [one.table for one in self._tables if within.overlaps(one.first_ns, one.last_ns)]
        found = [rows_in(self._family, one, wanted) for one in touched]
        if not found:
            return rows_in(self._family, empty_table(self._family), wanted)
        return found[0] if len(found) == 1 else _joined(self._family, found)

    def rollup(self, width_ns: int, keys: Sequence[str], within: TimeRange) -> Rollup:
        """The open tail is small: it is rolled up on the fly."""
        return roll_up(*self.samples(keys, within), width_ns)

    def _read_schema(self, payload: bytes) -> None:
        schema = json.loads(payload)
        refuse_newer_format(schema["format"], self.key)
        self._has_schema = True
        self.series = tuple(
            Series(MetricInfo(**one["metric"]), one["device"]) for one in schema.get("series", ())
        )

    def _add_samples(self, batches: list[Samples]) -> None:
        if not len(self._times):
            self._values = np.empty((len(self.series), 0), dtype=np.float32)
        self._times = np.concatenate([self._times, *(times for times, _ in batches)])
        self._values = np.concatenate([self._values, *(values for _, values in batches)], axis=1)

    def _add_rows(self, tables: list[pa.Table]) -> None:
        table = _joined(self._family, tables)
        while self._tables and self._tables[-1].table.num_rows < 2 * table.num_rows:
            table = _joined(self._family, [self._tables.pop().table, table])
        times = to_numpy(table[self._family.time_column])
        if len(times):
            self._tables.append(_Rows(table, int(times.min()), int(times.max())))

    @property
    def _rows(self) -> int:
        return len(self._times) or sum(one.table.num_rows for one in self._tables)


class SealedSegment:
    """A segment that never changes again.

    It may be replaced, though, by one that it was merged into, or lose its raw data to the disk
    budget: then reading raises KeyMissingError, and whoever reads has to look at the store again.
    """

    def __init__(
        self,
        backend: Backend,
        key: str,
        manifest: Manifest,
        family: Family,
        decoded: Decoded | None = None,
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
        self._blocks = Decoded(_MOST_BLOCK_BYTES)

    def samples(self, keys: Sequence[str], within: TimeRange) -> Samples:
        """Instants in a range, and values as (series, tick); NaN for series it does not have."""
        table = self._read(Wanted(within), ["time_ns", *keys])
        times = to_numpy(table["time_ns"])
        places = np.flatnonzero(inside_of(times, within.start_ns, within.end_ns))
        if len(places) and int(places[-1] - places[0]) == len(places) - 1:  # as it mostly is
            times = times[places[0] : places[-1] + 1]
            table, places = table.slice(int(places[0]), len(places)), np.arange(len(places))
        values = np.empty((len(keys), len(times)), dtype=np.float32)
        names = set(table.column_names)
        for position, key in enumerate(keys):
            if key in names:
                _copy(table[key], values[position])
            else:
                values[position] = np.nan
        is_all = len(places) == len(times)
        return (times, values) if is_all else (times[places], values[:, places])

    def rows(self, wanted: Wanted) -> pa.Table:
        """Some rows; a damaged row group is left out, and noted."""
        table = self._read(wanted, wanted.columns_to_read(self._family))
        return rows_in(self._family, table, wanted)

    def rollup(self, width_ns: int, keys: Sequence[str], within: TimeRange) -> Rollup:
        """From the widest kept level that divides the width, else from raw."""
        fitting = [level for level in self._levels if width_ns % level == 0]
        if not fitting and self.manifest.raw is not None:
            return roll_up(*self.samples(keys, within), width_ns)
        if not fitting:
            return join((), width_ns, len(keys))
        level = max(fitting)
        stretches: dict[int, list[int]] = {}
        for number, block in enumerate(self.manifest.rollup_blocks):
            if block.width_ns == level and within.overlaps(block.first_ns, block.last_ns):
                stretches.setdefault(block.first_ns, []).append(number)
        rows = _rows_of(keys, self.series)
        found = [self._stretch(numbers, rows, within) for numbers in stretches.values()]
        joined = join([one for one in found if one is not None], level, len(keys))
        return joined if level == width_ns else coarsen(joined, width_ns)

    def least_width_ns(self, width_ns: int) -> int:
        """The least width, from one on, in which it has an answer; without raw it may be wider."""
        is_known = self.manifest.raw is not None or not self._levels
        if is_known or any(width_ns % level == 0 for level in self._levels):
            return width_ns
        level = min(self._levels)
        return -(-width_ns // level) * level

    @property
    def _levels(self) -> set[int]:
        return {block.width_ns for block in self.manifest.rollup_blocks}

    def _read(self, wanted: Wanted, columns: Sequence[str] | None) -> pa.Table:
        groups = [
            number
            for number, group in enumerate(self.manifest.row_groups)
            if group.overlaps(wanted.within, wanted.steps)
        ]
        table = self._checked(self.manifest.raw, groups, columns) if groups else None
        if table is None:  # damage somewhere: group by group, to lose no more than is damaged
            tables = [self._intact(group, columns) for group in groups]
            intact = [one for one in tables if one is not None]
            table = pa.concat_tables(intact, promote_options="default") if intact else None
        if table is None and self._family.is_matrix:
            return samples_table((), np.empty(0, dtype=np.int64), np.empty((0, 0), np.float32))
        if table is not None:
            return table
        return empty_table(self._family).select(columns or [n for n, _ in self._family.columns])

    def _intact(self, group: int, columns: Sequence[str] | None) -> pa.Table | None:
        """What is left of one row group: of samples every intact series, of rows all or nothing."""
        raw = self.manifest.raw
        if columns is None or not self._family.is_matrix:
            return self._checked(raw, [group], columns)
        table = self._checked(raw, [group], ["time_ns"])
        if table is not None:
            for key in columns:
                one = self._checked(raw, [group], [key]) if key != "time_ns" else None
                if one is not None and one.num_columns:
                    table = table.append_column(key, one[key])
        return table

    def _stretch(self, numbers: list[int], rows: Sequence[int], within: TimeRange) -> Rollup | None:
        """Some series over one stretch of time, as far as it is asked for, from their blocks."""
        stretch: Rollup | None = None
        for number in numbers:
            block = self.manifest.rollup_blocks[number]
            last = block.first_series + block.series
            here = [place for place, row in enumerate(rows) if block.first_series <= row < last]
            if not here:
                continue
            whole = self._block(number)
            if whole is None:
                continue
            found = whole.within(within)
            if stretch is None:
                stretch = blank(block.width_ns, found.starts_ns, len(rows))
            stretch.fill(here, found, [rows[place] - block.first_series for place in here])
        return stretch

    def _block(self, number: int) -> Rollup | None:
        """One block of the pyramid, decoded once while there is room; None where it is damaged."""
        found: Rollup | None = self._blocks.find(number)
        if found is None:
            columns = ("start_ns", *ROLLUP_COLUMNS)
            table = self._checked(self.manifest.rollup, [number], columns)
            if table is None:
                return None
            block = self.manifest.rollup_blocks[number]
            found = rollup_of(table, block.width_ns, block.series)
            self._blocks.keep(number, found)
        return found

    def _checked(
        self, seal: SealedFile | None, groups: Sequence[int], columns: Sequence[str] | None
    ) -> pa.Table | None:
        """Row groups of a file, or None where something is gone or damaged, which is noted.

        Raises:
            KeyMissingError: The store holds another segment by now.
        """
        if seal is None:
            return None
        try:
            if seal.key not in self._files:
                kept = self._decoded if seal is self.manifest.raw else None
                self._files[seal.key] = ParquetFile(self._backend.view(seal.key), seal, kept)
            return self._files[seal.key].read(groups, columns)
        except (DamagedError, KeyMissingError) as error:
            if isinstance(error, KeyMissingError) and self._is_replaced():
                raise
            if str(error) not in self.damages:
                self.damages.append(str(error))
            return None

    def _is_replaced(self) -> bool:
        try:
            return decode_facts(Manifest, self._backend.read(self.key), self.key) != self.manifest
        except KeyMissingError:
            return True
        except DamagedError:
            return False


Segment = LiveSegment | SealedSegment


def _joined(family: Family, tables: list[pa.Table]) -> pa.Table:
    if not tables:
        return empty_table(family)
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _copy(column: pa.ChunkedArray, target: Floats) -> None:
    """Chunk by chunk, which spares a copy of the whole column."""
    first = 0
    for chunk in column.chunks:
        target[first : first + len(chunk)] = view_of(chunk)
        first += len(chunk)


def _rows_of(keys: Sequence[str], series: Sequence[Series]) -> list[int]:
    """Where each key is among the series; -1 where it is not."""
    places = {one.key: place for place, one in enumerate(series)}
    return [places.get(key, -1) for key in keys]
