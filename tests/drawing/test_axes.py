"""Axes of static pictures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.drawing.axes import (
    Scale,
    clock_text,
    decade_ticks,
    number_text,
    round_ticks,
    shortened,
    time_ticks,
)

numbers = st.floats(-1e9, 1e9)


@given(numbers, st.floats(1e-6, 1e9), st.integers(1, 10))
def test_ticks_are_few_and_inside(low: float, span: float, max_ticks: int) -> None:
    high = low + span
    if not high > low:
        return
    ticks = round_ticks(low, high, max_ticks)
    assert len(ticks) <= max_ticks + 1
    room = 1e-6 * span + 1e-9 * max(abs(low), abs(high))
    assert all(low - room <= tick <= high + room for tick in ticks)
    assert ticks == sorted(ticks)


@given(st.floats(0, 1e6), st.floats(10, 1e6), st.integers(2, 10))
def test_times_are_round_and_few(low: float, span: float, max_ticks: int) -> None:
    ticks = time_ticks(low, low + span, max_ticks)
    assert len(ticks) <= max_ticks + 1
    assert all(low - 1e-9 <= tick <= low + span for tick in ticks)


@pytest.mark.parametrize(
    ("seconds", "span", "text"),
    [(0, 100, "0:00"), (75, 100, "1:15"), (3600, 7200, "1:00 h"), (90_000, 90_000, "25:00 h")],
)
def test_times_on_an_axis_look_like_a_clock(seconds: float, span: float, text: str) -> None:
    assert clock_text(seconds, span) == text


def test_scale_clamps_values_to_its_ends() -> None:
    scale = Scale(10, 20, 100, 0)
    assert [scale.at(each) for each in (10, 15, 20, 99, -9)] == [100, 50, 0, 0, 100]
    logarithmic = Scale(1, 100, 0, 10, is_logarithmic=True)
    assert logarithmic.at(10) == pytest.approx(5)


def test_logarithmic_ticks_are_powers_of_ten() -> None:
    assert decade_ticks(0.002, 30) == pytest.approx([0.01, 0.1, 1, 10])


def test_tick_labels_have_units() -> None:
    assert number_text(0.25, "seconds") == "250 ms"
    assert number_text(40, "percent") == "40%"
    assert number_text(2e6, "bytes") == "2 MB"


@given(st.text(max_size=60), st.integers(5, 30))
def test_shortened_names_keep_both_ends(text: str, max_length: int) -> None:
    result = shortened(text, max_length)
    assert len(result) <= max_length
    assert result == text or (result[0] == text[0] and result[-1] == text[-1])
