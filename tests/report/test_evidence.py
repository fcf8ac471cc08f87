"""The evidence of a finding in the report, formatted as in the dashboard."""

import pytest

from sonde.report.evidence import evidence_lines, label_and_unit, value_text


@pytest.mark.parametrize(
    ("name", "label", "unit"),
    [
        ("lost_percent", "lost", "percent"),
        ("network_bytes_per_second", "network", "bytes_per_second"),
        ("seconds_per_step_to_win", "seconds per step to win", "seconds"),
        ("gpu_hours_lost", "GPU time lost", "gpu_hours"),
    ],
)
def test_the_suffix_of_a_name_is_its_unit(name: str, label: str, unit: str) -> None:
    assert label_and_unit(name) == (label, unit)


def test_large_values_have_no_scientific_notation() -> None:
    evidence = {"lost_seconds": 12_345.6, "used_bytes": 7.3e10, "gpu_hours_lost": 15_000.0}
    assert evidence_lines(evidence) == [
        "lost: 3 h 26 min",
        "used: 73 GB",
        "GPU time lost: 625 d",
    ]


def test_values_that_differ_only_in_their_unit_keep_their_names() -> None:
    assert evidence_lines({"lost_percent": 30.0, "lost_seconds": 0.5}) == [
        "lost percent: 30%",
        "lost seconds: 500 ms",
    ]


def test_long_lists_are_shortened() -> None:
    assert value_text(list(range(10)), "") == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    assert value_text([], "") == value_text(None, "") == "–"
    assert value_text({"a": [1.5]}, "") == '{"a": [1.5]}'
    assert (value_text(True, ""), value_text("forward", "")) == ("yes", "forward")
