import pytest
from hypothesis import given
from hypothesis import strategies as some

from sonde.terminal.bars import bar, sparkline, stacked_bar


@given(value=some.none() | some.floats(-1e6, 1e6), width=some.integers(0, 200))
def test_bar_has_the_requested_width(value: float | None, width: int) -> None:
    assert bar(value, width, "").cell_len == width


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "░░░░"), (None, "░░░░"), (0.1, "▏░░░"), (50, "██░░"), (100, "████"), (180, "████")],
)
def test_a_bar_goes_from_0_to_100(value: float | None, text: str) -> None:
    assert bar(value, 4, "").plain == text


def test_curve_has_gaps_for_unknown_values() -> None:
    assert sparkline([0, None, 50, 100, 250], "").plain == "▁ ▅██"


def test_curve_of_zeros_is_flat_at_any_scale() -> None:
    assert sparkline([0, 0], "", maximum=0).plain == "▁▁"


def test_the_share_of_the_job_is_stacked_within_that_of_the_machine() -> None:
    assert stacked_bar(20.0, 80.0, 10, "cyan").plain == "██▒▒▒▒▒▒░░"
    assert stacked_bar(80.0, 80.0, 10, "cyan").plain == "████████░░"
    assert stacked_bar(95.0, 80.0, 10, "cyan").plain == "████████░░"  # samples of other instants
    assert stacked_bar(0.1, 80.0, 10, "cyan").plain == "█▒▒▒▒▒▒▒░░"
    assert stacked_bar(None, 80.0, 10, "cyan").plain == bar(80.0, 10, "cyan").plain
    assert stacked_bar(5.0, None, 10, "cyan").plain == "░" * 10
