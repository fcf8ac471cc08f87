"""Tables of the report: what stands in their cells."""

from sonde.show.report.tables import table
from sonde.show.specs import Column, Table


def test_sentences_in_a_table_hold_code_and_names_are_what_they_are() -> None:
    advice = "set `num_workers` near the number of cores that a worker has"
    columns = (Column(name="rule", title="Rule", is_number=False),)
    html = str(table(Table(title="", columns=columns, rows=((advice,), ("a`b`c",)))))
    assert "set <code>num_workers</code> near" in html
    assert ">a`b`c<" in html
