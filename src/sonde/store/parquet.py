"""Sealed segments as Parquet files, with checksums over every byte that is read.

Parquet's page checksums exclude headers and footer, so the manifest stores checksums of column
chunks and of the footer.
"""

import io
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sonde.bounded_cache import BoundedCache
from sonde.errors import DamagedError
from sonde.store.backends import BytesView, View
from sonde.store.format import FORMAT_VERSION, refuse_newer_format
from sonde.store.limits import MAX_GROUP_BYTES
from sonde.store.manifest import SealedFile

# Damage to one chunk costs one series 4.5 hours at 500 ms.
ROW_GROUP_ROWS = 1 << 15

_MAGIC = b"PAR1"
_FORMAT_KEY = b"sonde_format"
_FOOTER_LENGTH_BYTES = 8
_FOOTER_READ_BYTES = 1 << 16
_ZSTD_LEVEL = 6
_COLUMNS_WORTH_THREADS = 8
_MAX_CACHED_FILE_BYTES = 64 << 20  # chunks of files up to this size are cached
_MIN_GAP_BYTES = 1 << 16  # smaller gaps between chunks are read, too

# A core's utilization has about 200 distinct values: dictionary encoding takes 0.6 bytes per value,
# byte planes 1.3. With more than one distinct value in eight rows, a dictionary is larger.
_ROWS_PER_LISTED_VALUE = 8


def write_parquet(
    key: str, tables: Iterable[pa.Table], repetitive: Collection[str] = ()
) -> tuple[bytes, SealedFile]:
    """Encode tables as the row groups of one file; returns the file and its checksums.

    Args:
        key: The key of the file.
        tables: Its row groups.
        repetitive: Columns to dictionary-encode.
    """
    sink = io.BytesIO()
    writer: pq.ParquetWriter | None = None
    for table in tables:
        if writer is None:
            writer = pq.ParquetWriter(
                sink,
                table.schema,
                compression="zstd",
                compression_level=_ZSTD_LEVEL,
                use_dictionary=[
                    f.name
                    for f in table.schema
                    if pa.types.is_dictionary(f.type) or f.name in repetitive
                ],
                column_encoding={
                    f.name: _encoding(f.type)
                    for f in table.schema
                    if _encoding(f.type) and f.name not in repetitive
                },
                write_statistics=False,
                # Arrow's schema takes 100 bytes per column and is only needed for dictionaries
                store_schema=any(pa.types.is_dictionary(f.type) for f in table.schema),
            )
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    assert writer is not None
    writer.add_key_value_metadata({_FORMAT_KEY: str(FORMAT_VERSION)})
    writer.close()
    data = sink.getvalue()
    return data, _checksums(key, data)


def repetitive_columns(tables: Sequence[pa.Table]) -> set[str]:
    """Numeric columns with so few distinct values that a dictionary makes the file smaller."""
    rows = sum(table.num_rows for table in tables)
    return {
        field.name
        for field in tables[0].schema
        if pa.types.is_floating(field.type)
        and _ROWS_PER_LISTED_VALUE * sum(_distinct(table[field.name]) for table in tables) <= rows
    }


def _distinct(column: pa.ChunkedArray) -> int:
    return int(pc.count_distinct(column, mode="all").as_py())


def _encoding(kind: pa.DataType) -> str | None:
    if pa.types.is_floating(kind):
        return "BYTE_STREAM_SPLIT"
    return "DELTA_BINARY_PACKED" if pa.types.is_integer(kind) else None


def _checksums(key: str, data: bytes) -> SealedFile:
    metadata = pq.read_metadata(pa.BufferReader(data))
    chunks = []
    for group in range(metadata.num_row_groups):
        spans = (_span(metadata, group, column) for column in range(metadata.num_columns))
        chunks.append("".join(f"{zlib.crc32(data[start:end]):08x}" for start, end in spans))
    return SealedFile(key, len(data), zlib.crc32(_footer(data)), tuple(chunks))


def _span(metadata: pq.FileMetaData, group: int, column: int) -> tuple[int, int]:
    chunk = metadata.row_group(group).column(column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    return start, start + chunk.total_compressed_size


def _footer(data: bytes | memoryview) -> bytes | memoryview:
    length = int.from_bytes(data[-_FOOTER_LENGTH_BYTES : -_FOOTER_LENGTH_BYTES + 4], "little")
    return data[-_FOOTER_LENGTH_BYTES - length :]


class _Copy:
    """A sparse copy of a file with the chunks read so far."""

    def __init__(self, size: int, footer: bytes, metadata: pq.FileMetaData | None = None) -> None:
        self.content: npt.NDArray[np.uint8] = np.zeros(size, dtype=np.uint8)
        self.content[: len(_MAGIC)] = np.frombuffer(_MAGIC, dtype=np.uint8)
        self.content[size - len(footer) :] = np.frombuffer(footer, dtype=np.uint8)
        self.chunks: set[tuple[int, int]] = set()  # verified row groups and columns
        source = pa.BufferReader(pa.py_buffer(self.content))
        self.file = pq.ParquetFile(source, metadata=metadata)


class ParquetFile:
    """An open sealed file; chunks are verified before they are decoded."""

    def __init__(
        self,
        data: bytes | View,
        seal: SealedFile,
        cache: BoundedCache[Any] | None = None,
        types: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        """Open a file and verify its footer.

        Args:
            data: The file.
            seal: Its size and checksums.
            cache: A cache of decoded columns.
            types: The required types of its columns.
        """
        self._view = BytesView(data) if isinstance(data, bytes) else data
        self._seal = seal
        self._footer = self._read_footer()
        self._copy = self._open_copy()
        self._metadata = self._copy.file.metadata
        stated = (self._metadata.metadata or {}).get(_FORMAT_KEY, b"1")
        refuse_newer_format(int(stated) if stated.isdigit() else 1, seal.key)
        schema = self._metadata.schema.to_arrow_schema()
        self._columns = {name: index for index, name in enumerate(schema.names)}
        actual = dict(zip(schema.names, schema.types, strict=True))
        if any(actual.get(name) != kind for name, kind in (types or {}).items()):
            raise DamagedError(f"{seal.key} is damaged: unexpected column types")
        self._cache = cache
        self._mark = object()  # part of cache keys, unique to this file

    def read(self, groups: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Read columns of row groups; missing columns are skipped.

        Raises:
            DamagedError: A required chunk is damaged.
        """
        names = [name for name in columns or self._columns if name in self._columns]
        if self._cache is None:
            return self._decode(groups, names)
        return pa.concat_tables([self._recall(self._cache, group, names) for group in groups])

    def _read_footer(self) -> bytes:
        seal, view = self._seal, self._view
        # usually includes the whole footer; for small files, the whole file
        ending = view.read(max(0, seal.size - _FOOTER_READ_BYTES), seal.size)
        length_field = ending[-_FOOTER_LENGTH_BYTES:][:4]
        length = int.from_bytes(length_field, "little") + _FOOTER_LENGTH_BYTES
        is_longer = length > len(ending)
        footer = view.read(max(0, seal.size - length), seal.size) if is_longer else ending[-length:]
        is_small = seal.size <= len(ending)
        beginning = ending[: len(_MAGIC)] if is_small else view.read(0, len(_MAGIC))
        is_whole = view.size == seal.size and beginning == _MAGIC
        if not is_whole or zlib.crc32(footer) != seal.footer_crc32:
            raise DamagedError(f"{seal.key} is damaged: size, header or footer do not match")
        return footer

    def _open_copy(self) -> _Copy:
        try:
            return _Copy(self._seal.size, self._footer)
        except (pa.ArrowException, OSError) as error:
            raise DamagedError(f"{self._seal.key} is damaged: {error}") from error

    def _recall(self, cache: BoundedCache[Any], group: int, names: Sequence[str]) -> pa.Table:
        """Read one row group; only decode columns that are not cached."""
        columns = {name: cache.get((self._mark, group, name)) for name in names}
        missing = [name for name, column in columns.items() if column is None]
        if missing:
            table = self._decode([group], missing)
            for name in missing:
                columns[name] = table[name]
                cache.put((self._mark, group, name), table[name])
        return pa.table(columns)

    def _decode(self, groups: Sequence[int], names: Sequence[str]) -> pa.Table:
        use_threads = len(names) > _COLUMNS_WORTH_THREADS
        file = self._filled(groups, names)
        try:
            return file.read_row_groups(list(groups), columns=names, use_threads=use_threads)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DamagedError(f"{self._seal.key} is damaged: {error}") from error

    def _filled(self, groups: Sequence[int], names: Sequence[str]) -> pq.ParquetFile:
        """The sparse file with the requested chunks, verified; the rest is zeros.

        Untouched zeros take no memory. Chunks of small files stay cached.
        """
        if self._copy.chunks and self._seal.size > _MAX_CACHED_FILE_BYTES:
            self._copy = _Copy(self._seal.size, self._footer, self._metadata)
        copy = self._copy
        spans = {
            (group, self._columns[name]): self._span(group, self._columns[name])
            for group in groups
            for name in names
            if (group, self._columns[name]) not in copy.chunks
        }
        for first, last in _merged(spans.values()):
            data = np.frombuffer(self._view.read(first, last), dtype=np.uint8)
            for start, end in spans.values():
                if first <= start and end <= last:  # skips the gaps between chunks
                    chunk = data[start - first : end - first]
                    copy.content[start : start + len(chunk)] = chunk
        for (group, column), (start, end) in spans.items():
            stated = self._seal.chunks_crc32[group][8 * column : 8 * column + 8]
            if f"{zlib.crc32(copy.content[start:end].data):08x}" != stated:
                name = self._metadata.schema.column(column).name
                raise DamagedError(f"{self._seal.key} is damaged: column {name}, row group {group}")
            copy.chunks.add((group, column))
        return copy.file

    def _span(self, group: int, column: int) -> tuple[int, int]:
        """The byte range of a chunk, after checking that the footer is plausible."""
        if group < min(self._metadata.num_row_groups, len(self._seal.chunks_crc32)):
            described = self._metadata.row_group(group)
            start, end = _span(self._metadata, group, column)
            is_inside = len(_MAGIC) <= start <= end <= self._seal.size
            if is_inside and described.total_byte_size <= MAX_GROUP_BYTES:
                return start, end
        raise DamagedError(f"{self._seal.key} is damaged: invalid row group {group}")


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge neighboring ranges, so that they are read with one request."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + _MIN_GAP_BYTES:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
