"""Binary frames: columns survive encoding and are aligned for browsers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sonde.web.frames import FrameBuilder, quantized
from tests.web.decoding import column_of, decode_frame

KINDS = st.sampled_from(["<u1", "<u2", "<u4", "<f4", "<f8"]).map(np.dtype)
COLUMNS = st.lists(KINDS.flatmap(lambda kind: arrays.arrays(kind, st.integers(0, 40))), max_size=6)
TEXTS = st.dictionaries(st.text(max_size=20), st.text(max_size=40), max_size=4)


@settings(max_examples=40, deadline=None)
@given(COLUMNS, TEXTS)
def test_every_column_is_decoded_bit_for_bit(
    columns: list[np.ndarray], message: dict[str, str]
) -> None:
    frame = FrameBuilder()
    indices = [frame.add(column) for column in columns]
    header, data = decode_frame(frame.build({"message": message, "columns": indices}))
    assert header["message"] == message
    for index, column in zip(header["columns"], columns, strict=True):
        decoded = column_of(index, data)
        assert decoded.dtype == column.dtype
        assert decoded.tobytes() == column.tobytes()


@settings(max_examples=40, deadline=None)
@given(COLUMNS, TEXTS)
def test_columns_are_aligned_for_typed_arrays(
    columns: list[np.ndarray], message: dict[str, str]
) -> None:
    frame = FrameBuilder()
    indices = [frame.add(column) for column in columns]
    complete = frame.build(message)
    start = 4 + int.from_bytes(complete[:4], "little")
    assert start % 8 == 0
    assert all(index["offset"] % 8 == 0 for index in indices)
    ends = [index["offset"] + column.nbytes for index, column in zip(indices, columns, strict=True)]
    assert all(start + end <= len(complete) for end in ends)


@settings(max_examples=40, deadline=None)
@given(arrays.arrays(np.float32, st.integers(1, 50), elements=st.floats(0, 650, width=32)))
def test_percentages_are_quantized_to_a_hundredth(values: np.ndarray) -> None:
    values[0] = np.nan
    frame = FrameBuilder()
    index = frame.add_percent(values)
    _, data = decode_frame(frame.build({}))
    decoded = column_of(index, data)
    assert np.isnan(decoded[0])
    np.testing.assert_allclose(decoded[1:], values[1:], atol=0.00501)


def test_percentages_out_of_range_are_sent_as_floats() -> None:
    values = np.array([12.5, 6400.0, np.inf, -3.0], dtype=np.float32)
    frame = FrameBuilder()
    index = frame.add_percent(values)
    _, data = decode_frame(frame.build({}))
    assert index["type"] == "f32"
    assert column_of(index, data).tolist() == values.tolist()


def test_values_above_the_scale_are_not_encoded_as_missing() -> None:
    codes = quantized(np.array([0.0, 100.0, 127.0, 1e9, np.nan]), 0.5, np.dtype("<u1"))
    assert codes.tolist() == [0, 200, 254, 254, 255]


def test_non_finite_numbers_become_null_in_a_header() -> None:
    header, _ = decode_frame(FrameBuilder().build({"mean": float("nan")}))
    assert header == {"mean": None}
