"""Tables of the report: what stands in their cells."""

import pytest

from sonde.drawing.cells import written
from sonde.drawing.tables import table
from sonde.records.chart import Cell, Column, Table


def test_sentences_in_a_table_hold_code_and_names_are_what_they_are() -> None:
    advice = "set `num_workers` near the number of cores that a worker has"
    columns = (Column(name="rule", title="Rule", is_number=False),)
    html = str(table(Table(title="", columns=columns, rows=((advice,), ("a`b`c",)))))
    assert "set <code>num_workers</code> near" in html
    assert ">a`b`c<" in html


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        *((0.0, "seconds", "0 s"), (1.3e-7, "seconds", "< 1 µs"), (2e-6, "seconds", "2 µs")),
        *((0.0, "percent", "0.0 %"), (0.02, "percent", "< 0.1 %"), (0.06, "percent", "0.1 %")),
        *((-0.04, "points", "+0.0 points"), (-5.4, "points", "-5.4 points")),
    ],
)
def test_what_is_nearly_nought_is_not_written_as_nought(value: Cell, unit: str, text: str) -> None:
    assert written(value, unit).replace("\u202f", " ") == text


def test_a_long_table_scrolls_in_a_box_and_says_what_paper_leaves_out() -> None:
    columns = (Column(name="row", title="Row"),)
    html = str(table(Table(title="", columns=columns, rows=tuple((one,) for one in range(61)))))
    assert 'class="wide tall"' in html
    assert "On paper, 60 of 61 rows; all are in the page." in html
    short = str(table(Table(title="", columns=columns, rows=tuple((one,) for one in range(60)))))
    assert "paper" not in short
