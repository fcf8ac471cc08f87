"""GPU utilization over time, of the node that the findings are about."""

import numpy as np
import pytest

from sonde.charts.gpu_time import GpuTime
from sonde.charts.node_heatmap import NodeHeatmap
from sonde.client.job import Job
from sonde.records.chart import Heatmap, LineChart
from sonde.records.finding import Episode, Evaluation, Finding, RuleStatus, Setting, Severity
from sonde.results.findings import Judgement
from sonde.results.job import JobResults
from tests.fakes.job import FakeJob

TICKS = 40


def two_nodes(gpus: int = 2) -> Job:
    """A job whose GPUs are busy on the first node and idle on the second."""
    first = FakeJob()
    second = FakeJob(first.backend.uri, "node-b", first.clock)
    for node, percent in ((first, 90.0), (second, 10.0)):
        names = [f"gpu.utilization_percent/gpu{number}" for number in range(gpus)]
        node.record({name: np.full(TICKS, percent + at) for at, name in enumerate(names)})
    second.end()
    return first.end().job()


def judged(job: Job, node: str) -> JobResults:
    """The job with a finding about a node."""
    finding = Finding("IdleGPU", Severity.WARNING, "idle", node=node)
    episode = Episode("IdleGPU:1", finding, 0, 1, 1)
    status = RuleStatus.ISSUES_FOUND
    evaluation = Evaluation("IdleGPU", Setting.CALIBRATED, status, {}, episodes=(episode,))
    return job.with_judgement(Judgement(job.name, (evaluation,)))


@pytest.mark.parametrize(("node", "percent"), [("node-a", 90.0), ("node-b", 10.0)])
def test_charts_of_one_node_show_the_node_with_findings(node: str, percent: float) -> None:
    job = judged(two_nodes(), node)
    chart = GpuTime().build(job)
    assert isinstance(chart, LineChart)
    assert chart.title == f"GPU utilization over time on {node}"
    assert [curve.label for curve in chart.curves] == ["gpu0", "gpu1"]
    values = [value for value in chart.curves[0].values if value is not None and value > 0]
    assert values
    assert set(values) == {percent}
    heatmap = NodeHeatmap().build(job)
    assert isinstance(heatmap, Heatmap)
    assert heatmap.title == f"Cores and GPUs of {node}"


def test_without_findings_the_first_node_is_shown() -> None:
    chart = NodeHeatmap().build(two_nodes())
    assert chart is not None
    assert chart.title == "Cores and GPUs of node-a"


def test_many_gpus_are_one_curve_with_a_band() -> None:
    chart = GpuTime(node="node-b").build(two_nodes(gpus=12))
    assert isinstance(chart, LineChart)
    [curve] = chart.curves
    assert curve.label == "mean of 12 GPUs"
    assert curve.low is not None
    assert curve.high is not None
    assert (curve.low[0], curve.values[0], curve.high[0]) == (10.0, 15.5, 21.0)


def test_jobs_without_gpus_have_no_chart() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [5.0, 6.0]}).end().job()
    assert GpuTime().build(job) is None
