"""Requirements on every collector."""

import inspect

import pytest

from sonde.agent.sampler import open_collectors
from sonde.agent.system import COLLECTORS, Machine


@pytest.mark.parametrize("name", COLLECTORS.names())
def test_a_collector_lists_metrics_with_a_meaning(name: str) -> None:
    collector = COLLECTORS.load(name)
    names = [metric.name for metric in collector.metrics]
    assert names
    assert len(names) == len(set(names))
    assert all(metric.help for metric in collector.metrics)


@pytest.mark.parametrize("name", COLLECTORS.names())
def test_the_name_of_a_metric_ends_with_its_unit(name: str) -> None:
    for metric in COLLECTORS.load(name).metrics:
        assert not metric.unit or metric.name.endswith(metric.unit), metric


@pytest.mark.parametrize("name", COLLECTORS.names())
def test_collector_documents_its_requirements(name: str) -> None:
    assert "Requires" in (inspect.getdoc(COLLECTORS.load(name)) or "")


def test_collectors_record_on_this_machine_what_they_list() -> None:
    result, _ = open_collectors(Machine())
    assert {"cpu", "memory"} <= result.keys()
    for name, collector in result.items():
        values = collector.read(1.0)
        assert len(values) == len(collector.series), name
        assert {series.metric for series in collector.series} <= set(collector.metrics), name
        collector.close()
