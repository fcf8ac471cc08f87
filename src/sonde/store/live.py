"""A live segment: a log that may still grow.

An incomplete frame at the end is tolerated. Damaged frames are skipped and reported.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.errors import DamagedError
from sonde.formats import format_count
from sonde.records.metric import MetricInfo, Series
from sonde.records.ranges import TimeRange
from sonde.store.backends import Backend
from sonde.store.decode import decode_rows, decode_samples
from sonde.store.format import Family, refuse_newer_format
from sonde.store.frames import FrameKind, FrameScan
from sonde.store.layout import LIVE_SUFFIX
from sonde.store.limits import MAX_LOG_CONTENT_BYTES
from sonde.store.manifest import Extent, SourceSegment
from sonde.store.owned import start_of
from sonde.store.rollups import Floats, Instants, Rollup, roll_up
from sonde.store.tables import (
    RowQuery,
    check_texts,
    empty_table,
    inside_of,
    rows_in,
    rows_table,
    to_numpy,
)

Samples = tuple[Instants, Floats]

# Exceptions from decoding malicious content with a valid checksum.
_NOT_DECODABLE = (
    DamagedError,
    pa.ArrowException,
    *(ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError),
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Consecutive rows with their time range."""

    table: pa.Table
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """The offset and time range of an intact batch."""

    offset: int
    first_ns: int
    last_ns: int

    @classmethod
    def of(cls, offset: int, times: Instants) -> "_Batch":
        return cls(offset, *(int(times.min()), int(times.max())) if len(times) else (0, 0))


class LiveSegment:
    """A segment that may still grow; decoded data is cached."""

    def __init__(self, backend: Backend, key: str, family: Family) -> None:
        self.name = key.rpartition("/")[2].removesuffix(LIVE_SUFFIX)
        self.key = key
        self.series: tuple[Series, ...] = ()
        self._damages: dict[int, str] = {}  # by offset
        self._batches: list[_Batch] = []  # in order
        self._early_batches: list[tuple[int, bytes]] = []  # batches before the first schema
        self._content_bytes = 0
        self._backend = backend
        self._family = family
        self._end = 0
        self._has_schema = False
        self._tables: list[_Rows] = []  # each at least twice as large as the next
        self._times: Instants = np.empty(0, dtype=np.int64)
        self._values: Floats = np.empty((0, 0), dtype=np.float32)

    @property
    def damages(self) -> list[str]:
        """Damage found so far."""
        return list(self._damages.values())

    @property
    def extent(self) -> Extent | None:
        """The extent of the readable rows; None if there are none."""
        if self._tables:
            firsts, lasts = (
                [rows.first_ns for rows in self._tables],
                [rows.last_ns for rows in self._tables],
            )
            return Extent(self._rows, min(firsts), max(lasts))
        if not len(self._times):
            return None
        return Extent(self._rows, int(self._times.min()), int(self._times.max()))

    @property
    def parts(self) -> tuple[SourceSegment, ...]:
        """Only this segment: a live segment has no sources."""
        return (SourceSegment(self.name, self._rows),)

    def refresh(self, size: int) -> None:
        """Decode the data appended since the last call."""
        if size < self._end:
            self._report_damage(
                size,
                f"{self.key} is damaged: truncated to {format_count(size)} of "
                f"{format_count(self._end)} bytes",
            )
        if size <= self._end:
            return None
        try:
            data = self._backend.read(self.key, self._end)
        except DamagedError as error:
            return self._report_damage(self._end, str(error))
        scan = FrameScan(data, self._end)
        batches = self._batches_in(scan)
        if self._family.is_matrix:
            self._add_samples(batches)
        else:
            self._add_rows(batches)
        for damage in scan.damages:
            text = f"{self.key} is damaged at byte {damage.offset}: {damage.reason}"
            self._report_damage(damage.offset, text)
        self._end = scan.end
        return None

    def _batches_in(self, scan: FrameScan) -> list[tuple[int, bytes]]:
        """The batches with their offsets; also reads schemas."""
        batches = []
        for frame in scan:
            self._content_bytes += len(frame.payload)
            if self._content_bytes > MAX_LOG_CONTENT_BYTES:
                self._report_damage(
                    frame.offset, f"{self.key} is damaged: its content is too large"
                )
                break
            if frame.kind is FrameKind.SCHEMA:
                self._read_schema(frame.offset, frame.payload)
            else:
                batches.append((frame.offset, frame.payload))
        return batches

    def samples(self, keys: Sequence[str], within: TimeRange) -> Samples:
        """Instants in a range, and values as (series, tick); NaN for missing series."""
        inside = inside_of(self._times, within.start_ns, within.end_ns)
        rows = rows_of(keys, self.series)
        values = np.full((len(keys), int(inside.sum())), np.nan, dtype=np.float32)
        for position, row in enumerate(rows):
            if row >= 0:
                values[position] = self._values[row, inside]
        return self._times[inside], values

    def rows(self, query: RowQuery) -> pa.Table:
        """The rows that match a query, in order of writing."""
        within = query.within
        overlapping = [
            each.table for each in self._tables if within.overlaps(each.first_ns, each.last_ns)
        ]
        tables = [rows_in(self._family, each, query) for each in overlapping]
        if not tables:
            return rows_in(self._family, empty_table(self._family), query)
        return tables[0] if len(tables) == 1 else joined(self._family, tables)

    def rollup(self, width_ns: int, keys: Sequence[str], within: TimeRange) -> Rollup:
        """Roll up on the fly, since live segments are small."""
        return roll_up(*self.samples(keys, within), width_ns)

    def _read_schema(self, offset: int, payload: bytes) -> None:
        try:
            schema = json.loads(payload)
            version = int(schema["format"])
            owner = str(schema.get("owner", self._owner))
            is_ours = (str(schema["family"]), owner) == (self._family.name, self._owner)
            series = tuple(
                Series(MetricInfo(**item["metric"]), str(item["device"]))
                for item in schema.get("series", ())
            )
        except _NOT_DECODABLE:
            return self._report_damage(offset, f"{self.key} is damaged: invalid list of series")
        refuse_newer_format(version, self.key)
        if not is_ours:
            return self._report_damage(
                offset, f"{self.key} is damaged: it is a copy of another file"
            )
        self._has_schema = True
        self.series = series
        return None

    @property
    def _owner(self) -> str:
        """The folder and the writer of the segment."""
        return owner_of(self.key)

    def _add_samples(self, payloads: list[tuple[int, bytes]]) -> None:
        """Decode samples; those before the first schema are decoded once it is read."""
        if not self._has_schema:
            self._early_batches += payloads
            for offset, _ in payloads:
                self._report_damage(offset, f"{self.key} is damaged: its list of series is missing")
            return
        waiting, self._early_batches = self._early_batches, []
        for offset, _ in waiting:
            self._withdraw_damage(offset)
        batches = [self._samples_in(*each) for each in (*waiting, *payloads)]
        intact = [each for each in batches if each is not None]
        if not len(self._times):
            self._values = np.empty((len(self.series), 0), dtype=np.float32)
        self._times = np.concatenate([self._times, *(times for times, _ in intact)])
        self._values = np.concatenate([self._values, *(values for _, values in intact)], axis=1)

    def _samples_in(self, offset: int, payload: bytes) -> Samples | None:
        try:
            times, values = decode_samples(payload)
        except _NOT_DECODABLE:
            times, values = np.empty(0, np.int64), np.empty((0, 0), np.float32)
        if len(values) != len(self.series):
            self._report_damage(offset, f"{self.key} is damaged at byte {offset}: invalid samples")
            return None
        self._batches.append(_Batch.of(offset, times))
        return times, values

    def _add_rows(self, batches: list[tuple[int, bytes]]) -> None:
        tables = []
        for offset, payload in batches:
            try:
                table = check_texts(rows_table(self._family, decode_rows(payload)), self.key)
            except _NOT_DECODABLE:
                label = self._family.label
                self._report_damage(
                    offset, f"{self.key} is damaged at byte {offset}: invalid {label}"
                )
                continue
            tables.append(table)
            self._batches.append(_Batch.of(offset, to_numpy(table[self._family.time_column])))
        table = joined(self._family, tables)
        while self._tables and self._tables[-1].table.num_rows < 2 * table.num_rows:
            table = joined(self._family, [self._tables.pop().table, table])
        times = to_numpy(table[self._family.time_column])
        if len(times):
            self._tables.append(_Rows(table, int(times.min()), int(times.max())))

    def _report_damage(self, offset: int, text: str) -> None:
        """Report damage with the time between the neighboring intact batches."""
        if offset in self._damages:
            return
        self._damages[offset] = text
        earlier = [batch.last_ns for batch in self._batches if batch.offset < offset]
        later = [batch.first_ns for batch in self._batches if batch.offset > offset]
        start_ns = max(earlier, default=start_of(self.key))
        self._backend.ledger.report(self.key, text, (start_ns, min(later, default=None)))

    def _withdraw_damage(self, offset: int) -> None:
        """Withdraw the damage of samples whose schema has arrived."""
        if self._damages.pop(offset, None) is not None and not self._damages:
            self._backend.ledger.clear(self.key)

    @property
    def _rows(self) -> int:
        return len(self._times) or sum(rows.table.num_rows for rows in self._tables)


def owner_of(key: str) -> str:
    """The folder and the writer of a segment's file."""
    folder, _, file = key.rpartition("/")
    return f"{folder}/{file.partition('-')[2].partition('.')[0]}"


def joined(family: Family, tables: list[pa.Table]) -> pa.Table:
    """Concatenate tables."""
    if not tables:
        return empty_table(family)
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def rows_of(keys: Sequence[str], series: Sequence[Series]) -> list[int]:
    """The index of each key in the series; -1 if it is missing."""
    indices = {each.key: index for index, each in enumerate(series)}
    return [indices.get(key, -1) for key in keys]
