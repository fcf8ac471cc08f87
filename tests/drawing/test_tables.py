"""Cells and notes of HTML tables."""

import pytest

from sonde.drawing.cells import format_cell
from sonde.drawing.tables import table
from sonde.records.chart import Cell, Column, Table


def test_backticks_are_code_in_sentences_but_not_in_names() -> None:
    advice = "set `num_workers` near the number of cores that a worker has"
    columns = (Column(name="rule", title="Rule", is_number=False),)
    html = str(table(Table(title="", columns=columns, rows=((advice,), ("a`b`c",)))))
    assert "set <code>num_workers</code> near" in html
    assert ">a`b`c<" in html


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        *((0.0, "seconds", "0 s"), (1.3e-7, "seconds", "< 1 µs"), (2e-6, "seconds", "2 µs")),
        *((0.0, "percent", "0%"), (0.002, "percent", "< 0.01%"), (0.06, "percent", "0.06%")),
        *((-0.04, "points", "+0.0 points"), (-5.4, "points", "-5.4 points")),
    ],
)
def test_small_values_are_not_rounded_to_zero(value: Cell, unit: str, text: str) -> None:
    assert format_cell(value, unit) == text


def test_long_table_scrolls_and_notes_how_many_rows_are_printed() -> None:
    columns = (Column(name="row", title="Row"),)
    html = str(table(Table(title="", columns=columns, rows=tuple((each,) for each in range(61)))))
    assert 'class="wide tall"' in html
    assert "60 of 61 rows printed. The page shows all of them." in html
    short = str(table(Table(title="", columns=columns, rows=tuple((each,) for each in range(60)))))
    assert "paper" not in short
