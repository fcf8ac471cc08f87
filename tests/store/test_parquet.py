"""Sealed files: valid Parquet, with checksums over every byte."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sonde.errors import DamagedError, FormatTooNewError
from sonde.store import parquet as module
from sonde.store.backends import BytesView
from sonde.store.parquet import ParquetFile, write_parquet


def tables() -> list[pa.Table]:
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), ["loss", "größe"])
    columns = {
        "name": texts,
        "time_ns": pa.array([1, 2, 3], pa.int64()),
        "value": pa.array([0.5, float("nan"), -0.0], pa.float32()),
    }
    return [pa.table(columns), pa.table(columns).slice(0, 2).combine_chunks()]


def test_any_parquet_reader_opens_the_file() -> None:
    data, _ = write_parquet("a.parquet", tables())

    table = pq.read_table(io.BytesIO(data))

    assert table["name"].to_pylist() == ["loss", "größe", "loss", "loss", "größe"]
    assert table["time_ns"].to_pylist() == [1, 2, 3, 1, 2]


def test_the_same_rows_produce_the_same_bytes() -> None:
    assert write_parquet("a.parquet", tables()) == write_parquet("a.parquet", tables())


def test_some_columns_of_some_groups_can_be_read() -> None:
    file = ParquetFile(*write_parquet("a.parquet", tables()))

    table = file.read([1], ["time_ns", "not there"])

    assert table.to_pydict() == {"time_ns": [1, 2]}


def test_every_byte_of_the_file_is_covered_by_checksums() -> None:
    data, seal = write_parquet("a.parquet", tables())

    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(DamagedError, match=r"a\.parquet is damaged"):
            ParquetFile(bytes(damaged), seal).read([0, 1])


def test_damage_does_not_affect_intact_chunks() -> None:
    data, seal = write_parquet("a.parquet", tables())
    damaged = bytearray(data)
    damaged[5] ^= 1  # in the first column of the first group

    file = ParquetFile(bytes(damaged), seal)

    assert file.read([1]).num_rows == 2
    assert file.read([0], ["time_ns"]).num_rows == 3
    with pytest.raises(DamagedError, match="name, row group 0"):
        file.read([0])


def test_a_truncated_file_is_damaged() -> None:
    data, seal = write_parquet("a.parquet", tables())

    for length in (0, 3, 8, len(data) - 1):
        with pytest.raises(DamagedError, match=r"a\.parquet is damaged"):
            ParquetFile(data[:length], seal)


def test_a_newer_format_is_refused_with_advice_to_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FORMAT_VERSION", 2)
    newer = write_parquet("a.parquet", tables())

    with pytest.raises(FormatTooNewError, match=r"a\.parquet .* pip install -U sonde"):
        ParquetFile(*newer)


class CountingView(BytesView):
    """A view that records which ranges were read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.parts: list[tuple[int, int]] = []

    def read(self, start: int, end: int) -> bytes:
        self.parts.append((start, end))
        return super().read(start, end)


def test_a_footer_is_read_once_even_if_it_is_unusually_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, seal = write_parquet("a.parquet", tables())
    small = CountingView(data)
    assert ParquetFile(small, seal).read([0]).num_rows == 3
    assert small.parts[0] == (0, len(data))

    monkeypatch.setattr(module, "_FOOTER_READ_BYTES", 16)
    large = CountingView(data)
    assert ParquetFile(large, seal).read([1]).num_rows == 2
    assert large.parts[0] == (len(data) - 16, len(data))
    assert (0, 4) in large.parts
