"""The binary codec: what goes in comes out, at addresses that a browser can map."""

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
def test_every_column_comes_back_bit_by_bit_whatever_the_header_says(
    given_columns: list[np.ndarray], said: dict[str, str]
) -> None:
    frame = FrameBuilder()
    places = [frame.add(one) for one in given_columns]
    header, data = decode_frame(frame.build({"said": said, "places": places}))
    assert header["said"] == said
    for place, one in zip(header["places"], given_columns, strict=True):
        found = column_of(place, data)
        assert found.dtype == one.dtype
        assert found.tobytes() == one.tobytes()


@settings(max_examples=40, deadline=None)
@given(COLUMNS, TEXTS)
def test_columns_lie_where_typed_arrays_may_begin(
    given_columns: list[np.ndarray], said: dict[str, str]
) -> None:
    frame = FrameBuilder()
    places = [frame.add(one) for one in given_columns]
    whole = frame.build(said)
    start = 4 + int.from_bytes(whole[:4], "little")
    assert start % 8 == 0
    assert all(place["offset"] % 8 == 0 for place in places)
    ends = [place["offset"] + one.nbytes for place, one in zip(places, given_columns, strict=True)]
    assert all(start + end <= len(whole) for end in ends)


@settings(max_examples=40, deadline=None)
@given(arrays.arrays(np.float32, st.integers(1, 50), elements=st.floats(0, 650, width=32)))
def test_percentages_are_told_to_a_hundredth(values: np.ndarray) -> None:
    values[0] = np.nan
    frame = FrameBuilder()
    place = frame.add_percent(values)
    _, data = decode_frame(frame.build({}))
    found = column_of(place, data)
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1:], values[1:], atol=0.00501)


def test_what_no_hundredth_of_a_percent_can_hold_is_told_as_it_is() -> None:
    values = np.array([12.5, 6400.0, np.inf, -3.0], dtype=np.float32)
    frame = FrameBuilder()
    place = frame.add_percent(values)
    _, data = decode_frame(frame.build({}))
    assert place["type"] == "f32"
    assert column_of(place, data).tolist() == values.tolist()


def test_values_beyond_the_scale_are_not_taken_for_missing_ones() -> None:
    codes = quantized(np.array([0.0, 100.0, 127.0, 1e9, np.nan]), 0.5, np.dtype("<u1"))
    assert codes.tolist() == [0, 200, 254, 254, 255]


def test_numbers_that_json_cannot_write_become_null_in_a_header() -> None:
    header, _ = decode_frame(FrameBuilder().build({"mean": float("nan")}))
    assert header == {"mean": None}
