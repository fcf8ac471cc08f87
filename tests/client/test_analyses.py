"""Analyses of steps and system metrics match values computed by hand."""

import re

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from tests.fakes.job import FakeJob
from tests.fakes.reported import LEAD_SECONDS, TICK_SECONDS, Reported, reported_job


@pytest.fixture(scope="module")
def reported() -> Reported:
    return reported_job()


def test_a_histogram_of_steps_counts_every_step_of_every_worker(reported: Reported) -> None:
    histogram = reported.job.steps().histogram(7).to_pandas()
    for worker in (0, 1):
        current = histogram[histogram["group"] == f"worker {worker}"]
        edges = np.append(current["from"] - 1e-7, current["to"].iloc[-1] + 1e-7)
        expected = np.histogram(reported.durations(worker), edges)[0]
        assert current["count"].tolist() == expected.tolist()
        assert current["percent"].sum() == pytest.approx(100)


def test_a_histogram_of_utilization_uses_custom_edges(reported: Reported) -> None:
    histogram = reported.job.system("gpu.utilization_percent", node="node-a").histogram(
        (0, 10, 90, 100)
    )
    for index, gpu in enumerate(histogram.groups):
        values = reported.samples["node-a"][f"gpu.utilization_percent/{gpu}"]
        assert (
            histogram.counts[index].tolist() == np.histogram(values, (0, 10, 90, 100))[0].tolist()
        )


def test_a_histogram_of_several_units_is_refused(reported: Reported) -> None:
    with pytest.raises(UsageError, match="has several units"):
        reported.job.system("*").histogram()
    with pytest.raises(UsageError, match="Invalid edges"):
        reported.job.system("cpu.iowait_percent").histogram((3, 2))
    with pytest.raises(UsageError, match="Invalid number of bins"):
        reported.job.system("cpu.iowait_percent").histogram(0)


def test_devices_are_selected_by_a_pattern(reported: Reported) -> None:
    samples = reported.job.system("cpu.utilization_percent", device="cpu*")
    assert {each_series.device for each_series in samples.series} == {"cpu0", "cpu1"}


def test_a_heatmap_has_a_row_per_device_with_its_means(reported: Reported) -> None:
    heat = reported.job.system("gpu.utilization_percent", node="node-a").heatmap().plot()
    document = heat.document()
    assert document["rows"] == ["gpu0", "gpu1"]
    expected = reported.samples["node-a"]["gpu.utilization_percent/gpu0"]
    assert np.allclose(np.array(document["values"][0], dtype=np.float64), expected, atol=1e-3)


def test_outliers_name_the_worker_and_the_phase_that_waited(reported: Reported) -> None:
    outliers = reported.job.steps().outliers().to_pandas()
    assert sorted(outliers["step"]) == list(range(0, 200, 25))
    assert set(outliers["phase"]) == {"data_wait"}
    assert set(outliers["worker"]) == {1}
    normal = np.delete(reported.durations(1), slice(None, None, 25))
    assert outliers["usual_seconds"].iloc[0] == pytest.approx(np.median(normal), abs=1e-6)


def test_outlier_means_use_only_samples_taken_during_outliers(
    reported: Reported,
) -> None:
    comparison = reported.job.steps().outliers().system("cpu.iowait_percent").to_pandas().iloc[0]
    ends = LEAD_SECONDS + np.cumsum(reported.durations(1))
    ends += 0.25 * (np.arange(200) // 50)  # an evaluation after every fiftieth step
    starts = ends - reported.durations(1)
    ticks = TICK_SECONDS * np.arange(240)
    values = reported.samples["node-b"]["cpu.iowait_percent"]
    is_outlier = np.zeros(240, dtype=bool)
    for index in range(0, 200, 25):
        is_outlier |= (ticks >= starts[index]) & (ticks < ends[index])
    assert comparison["samples"] == is_outlier.sum()
    assert comparison["outliers"] == pytest.approx(values[is_outlier].mean(), rel=1e-4)
    assert -1 <= comparison["correlation"] <= 1


def test_samples_during_events_are_those_of_the_same_node(reported: Reported) -> None:
    job = reported.job
    steps = job.steps(worker=1, start_step=10, end_step=20)
    during = job.system("cpu.iowait_percent").during(steps).to_pandas()
    assert set(during["node"]) == {"node-b"}
    table = steps.tables[0]
    first_ns, last_ns = int(table.starts_ns[0]), int(table.ends_ns[-1])
    times = during["time"].astype("int64")
    assert (times >= first_ns).all()
    assert (times < last_ns).all()
    with pytest.raises(UsageError, match="without it"):
        job.system("cpu.iowait_percent").during(steps).buckets()


def test_the_phases_of_an_interval_add_up_to_its_length(reported: Reported) -> None:
    interval = reported.job.between(5, 8)
    rows = interval.to_pandas()
    phases = rows[(rows["worker"] == 0) & (rows["category"] == "phase")]
    assert phases["seconds"].sum() == pytest.approx(3, abs=1e-6)
    assert interval.seconds == 3
    assert len(interval.events) > 0
    times = interval.system("cpu.iowait_percent").to_pandas()["time"].astype("int64")
    start_ns = reported.job.facts.start_ns or 0
    assert (times >= start_ns + 5 * NANOSECONDS).all()
    assert (times < start_ns + 8 * NANOSECONDS).all()


def test_jobs_are_compared_metric_by_metric(reported: Reported) -> None:
    rows = reported.job.compare(FakeJob().end().job()).to_pandas()
    first, second = rows.iloc[0], rows.iloc[1]
    assert first["steps"] == 200
    assert first["loss"] == pytest.approx(reported.losses[-10:].mean())
    assert first["least_loss"] == pytest.approx(reported.losses.min())
    assert second["steps"] == 0
    assert np.isnan(second["loss"])


def test_a_comparison_prints_durations_and_percentages_with_units(reported: Reported) -> None:
    text = repr(reported.job.compare(FakeJob().end().job()))
    rows = {line.split()[0]: line for line in text.splitlines()}
    assert re.search(r"^step_p50_seconds +[\d.]+ m?s +–$", rows["step_p50_seconds"])
    assert re.search(r"^data_wait_percent +[\d.]+% +–$", rows["data_wait_percent"])
    assert "nan" not in text


def test_compared_jobs_of_the_same_name_are_numbered(reported: Reported) -> None:
    comparison = reported.job.compare(reported.job)
    assert comparison.names == ("job #1", "job #2")
    assert set(comparison.scalars().to_pandas()["job"]) == set(comparison.names)
