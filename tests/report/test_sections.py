"""Sections of the report: charts declare where they belong."""

from collections.abc import Iterable

import pytest

from sonde.charts import CHARTS
from sonde.records.chart import Text
from sonde.report.sections import SECTIONS, Section, charts_by_section, fill
from sonde.report.sentences import headlines


def names_of(sections: Iterable[Section]) -> set[str]:
    return {name for each in sections for name in (each.name, *names_of(each.subsections))}


@pytest.mark.parametrize("chart", CHARTS.names())
def test_every_chart_names_an_existing_section(chart: str) -> None:
    section = CHARTS.load(chart).section
    assert not section or section in names_of(SECTIONS)


def test_charts_of_a_section_are_in_their_declared_order() -> None:
    for names in charts_by_section().values():
        positions = [CHARTS.load(name).order for name in names]
        assert positions == sorted(positions)


def test_section_is_collapsed_unless_a_rule_of_its_charts_fired() -> None:
    section = Section("steps", "Step duration analysis")
    specs = {"step_outliers": Text(title="Step outliers", paragraphs=())}
    assert fill(section, specs, []).is_collapsed
    assert not fill(section, specs, ["Straggler"]).is_collapsed
    assert not fill(Section("tensors", "Tensors"), {}, []).is_collapsed


def test_headlines_follow_the_order_that_charts_declare() -> None:
    specs = {name: Text(title=name, note=name, paragraphs=()) for name in reversed(CHARTS.names())}
    assert headlines(specs)[:3] == ["speed_advice", "job_details", "step_statistics"]
    assert "layers" not in headlines(specs)
