"""Every chart: what it declares, and a job without data."""

import json
from typing import TYPE_CHECKING

import pytest

from sonde.charts import CHARTS
from sonde.rules import load_rule
from tests.fakes.job import FakeJob

if TYPE_CHECKING:
    from sonde.results.job import JobResults


@pytest.mark.parametrize("name", CHARTS.names())
def test_no_chart_fails_for_an_empty_job(name: str) -> None:
    job: JobResults = FakeJob().end().job()
    spec = CHARTS.load(name)().build(job)
    assert spec is None or json.dumps(spec.document(), allow_nan=False)


@pytest.mark.parametrize("name", CHARTS.names())
def test_every_chart_has_a_title_a_description_and_a_location(name: str) -> None:
    kind = CHARTS.load(name)
    assert kind.__doc__
    assert kind.title
    assert kind.overview or kind.section


@pytest.mark.parametrize("name", CHARTS.names())
def test_rules_of_a_chart_exist(name: str) -> None:
    for rule in CHARTS.load(name).rules:
        assert load_rule(rule).__name__ == rule
