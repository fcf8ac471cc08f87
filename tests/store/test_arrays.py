"""Bytes and statistics of array-like values, with and without NumPy."""

import math
import sys
from array import array
from typing import Any

import numpy as np
import pytest

from sonde.store.arrays import dtype_of, raw_of, statistics
from tests.fakes.worker import statistics_of

NASTY = [0.0, -0.0, 1.5, -2.75, 3e-310, 1e150, -1e-20, math.inf, -math.inf, math.nan, 7.0]


@pytest.mark.parametrize("has_numpy", [True, False])
def test_statistics_match_their_definition(
    has_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = raw_of(NASTY)
    expected = statistics_of(np.array(NASTY))
    if not has_numpy:
        monkeypatch.delitem(sys.modules, "numpy")
    row = statistics(raw)
    assert row[:4] == expected[:4]
    assert row[4:-1] == pytest.approx(expected[4:-1], rel=1e-12)
    assert row[-1] == expected[-1]


@pytest.mark.parametrize("has_numpy", [True, False])
def test_empty_array_has_statistics(has_numpy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_numpy:
        monkeypatch.delitem(sys.modules, "numpy")
    row = statistics(raw_of([]))
    assert row[:4] == (0, 0, 0, 0)
    assert math.isnan(row[4])


@pytest.mark.parametrize(
    "name", ["float64", "float32", "float16", "int64", "int32", "int8", "uint16", "bool"]
)
def test_numpy_array_keeps_its_type_and_bytes(name: str) -> None:
    values = np.array([[1, 0, 1], [0, 1, 1]], dtype=name)
    raw = raw_of(values)
    assert (dtype_of(raw), raw.shape, raw.data) == (name, (2, 3), values.tobytes())
    assert statistics(raw)[:4] == (6, 0, 0, 2)


def test_non_contiguous_array_is_copied_in_logical_order() -> None:
    values = np.arange(6.0).reshape(2, 3).T[::-1]
    assert raw_of(values).data == np.ascontiguousarray(values).tobytes()


@pytest.mark.parametrize(
    ("value", "shape", "dtype"),
    [
        ([[1, 2], [3, 4], [5, 6]], (3, 2), "int64"),
        ([1, 2.5], (2,), "float64"),
        ((), (0,), "float64"),
        (3, (), "int64"),
        (np.float32(0.5), (), "float32"),
        (array("f", [1, 2]), (2,), "float32"),
        (b"ab", (2,), "uint8"),
    ],
)
def test_scalars_lists_and_buffers_are_accepted(
    value: Any, shape: tuple[int, ...], dtype: str
) -> None:
    raw = raw_of(value)
    assert (raw.shape, dtype_of(raw)) == (shape, dtype)


@pytest.mark.parametrize("value", ["text", [[1], [2, 3]], ["a"], None, np.array(["a"]), object()])
def test_value_that_is_not_an_array_of_numbers_is_rejected(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        raw_of(value)
