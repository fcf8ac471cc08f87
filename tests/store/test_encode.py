"""Encoded batches of every family are decoded exactly."""

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.store.decode import Text, decode_rows, decode_samples
from sonde.store.encode import encode_rows, encode_samples
from sonde.store.format import FAMILIES, INTEGER, REAL, SINGLE, TEXT, Family
from sonde.store.tables import rows_table

VALUES: dict[str, st.SearchStrategy[Any]] = {
    TEXT: st.text(max_size=20),
    INTEGER: st.integers(-(2**63), 2**63 - 1),
    REAL: st.floats(),
    SINGLE: st.floats(width=32),
}
FAMILIES_OF_ROWS = [family for family in FAMILIES.values() if not family.is_matrix]
INSTANTS = st.lists(st.integers(0, 2**62), min_size=1, max_size=8).map(sorted)


def rows_of(family: Family) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    row = st.tuples(*(VALUES[code] for _, code in family.columns))
    return st.lists(row, min_size=1, max_size=8)


def exact(value: object) -> object:
    """Convert floats to their bits, so that NaN equals itself and 0.0 differs from -0.0."""
    return struct.pack("<d", value) if isinstance(value, float) else value


@pytest.mark.parametrize("family", FAMILIES_OF_ROWS, ids=lambda family: family.name)
@given(data=st.data())
@settings(max_examples=40)
def test_rows_of_every_family_are_decoded_exactly(family: Family, data: st.DataObject) -> None:
    rows = data.draw(rows_of(family))

    table = rows_table(family, decode_rows(encode_rows(family, rows)))

    assert table.column_names == [name for name, _ in family.columns]
    result = zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert [list(map(exact, row)) for row in result] == [list(map(exact, row)) for row in rows]


@given(INSTANTS, st.integers(0, 5), st.data())
@settings(max_examples=80)
def test_samples_are_decoded_exactly(times_ns: list[int], series: int, data: st.DataObject) -> None:
    tick = st.lists(VALUES[SINGLE], min_size=series, max_size=series)
    rows = data.draw(st.lists(tick, min_size=len(times_ns), max_size=len(times_ns)))

    found_times, values = decode_samples(encode_samples(times_ns, rows))

    assert found_times.tolist() == times_ns
    assert values.shape == (series, len(times_ns))
    expected = np.array(rows, dtype=np.float32).reshape(len(rows), series).T
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(np.signbit(values), np.signbit(expected))


def test_decreasing_timestamps_are_preserved() -> None:
    times_ns = [50, 20, 90]

    assert decode_samples(encode_samples(times_ns, [[1.0]] * 3))[0].tolist() == times_ns


def test_a_sample_too_large_for_float32_becomes_infinity() -> None:
    _, values = decode_samples(encode_samples([1], [[1e39, -1e39]]))

    assert values[:, 0].tolist() == [math.inf, -math.inf]


def test_a_repeated_text_is_stored_once() -> None:
    family = FAMILIES["notices"]
    row = ("lost", "samples", "disk full", 1, 2)

    column = decode_rows(encode_rows(family, [row] * 5))["reason"]

    assert isinstance(column, Text)
    assert column.distinct == ["disk full"]
    assert column.numbers.tolist() == [0] * 5


def test_a_name_with_invalid_unicode_can_be_read() -> None:
    family = FAMILIES["notices"]
    row = ("lost", "samples", "cannot write /data/\udcff: full", 1, 2)

    table = rows_table(family, decode_rows(encode_rows(family, [row])))

    assert table["reason"].to_pylist() == ["cannot write /data/\\udcff: full"]
