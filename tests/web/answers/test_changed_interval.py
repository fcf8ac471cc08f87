"""Series and heatmaps of a job whose sampling interval was changed while it ran."""

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from sonde.records.job import Heartbeat, Overhead
from tests.fakes.job import FakeJob
from tests.web.served import column, columns, served_job

CPU, CORE, MEMORY = "cpu.utilization_percent", "cpu.utilization_percent/cpu0", "memory.used_percent"
MISSING = 255
CHANGES = [(0.5, 0.1), (0.1, 0.5), (0.5, 5.0), (5.0, 0.1)]


def changed_job(first: float, second: float, seconds: float = 30) -> FakeJob:
    """A job sampled at one interval, then at another; memory is read every second."""
    job = FakeJob()
    for interval in (first, second):
        skipped = max(1, round(1 / interval))
        ticks = round(seconds / interval)
        memory = [20.0 if tick % skipped == 0 else np.nan for tick in range(ticks)]
        job.record({CPU: [50.0] * ticks, CORE: [50.0] * ticks, MEMORY: memory}, interval)
    beat = Heartbeat(
        job.clock.now_ns(), 5.0, Overhead(0.5, 100, 5), interval_seconds=second, is_monitoring=True
    )
    job._document("heartbeat", beat)
    return job


@pytest.mark.parametrize(("first", "second"), CHANGES)
@pytest.mark.parametrize("pixels", [100, 2000])
def test_curves_have_no_gap_where_the_interval_changed(
    first: float, second: float, pixels: int
) -> None:
    client = served_job(changed_job(first, second))
    header, data = columns(client, f"series?keys={CPU},{MEMORY}&px={pixels}")
    for series in header["series"]:
        means = np.array(column(series["parts"]["mean"], data))
        known = np.flatnonzero(~np.isnan(means))
        assert len(known) > 4, series["key"]
        assert np.isnan(means[known[0] : known[-1] + 1]).sum() == 0, series["key"]


@pytest.mark.parametrize(("first", "second"), CHANGES)
@pytest.mark.parametrize("pixels", [100, 1200])
def test_heatmap_has_no_empty_columns_where_the_interval_changed(
    first: float, second: float, pixels: int
) -> None:
    client = served_job(changed_job(first, second))
    header, data = columns(client, f"heat?px={pixels}")
    codes = np.array(column(header["values"], data)).reshape(len(header["rows"]), -1)[0]
    known = np.flatnonzero(~np.isnan(codes))
    width = header["columns"]["width"]
    assert np.isnan(codes[known[0] : known[-1] + 1]).sum() == 0
    assert len(known) * width > 60 - 2 * max(first, second, width)


def test_heatmap_columns_are_as_narrow_as_the_samples_when_the_interval_got_longer() -> None:
    header, _ = columns(served_job(changed_job(0.1, 5.0)), "heat?px=1200")
    assert header["columns"]["width"] <= 0.1


def test_a_pause_of_monitoring_stays_a_gap() -> None:
    job = FakeJob()
    job.record({CPU: [50.0] * 40, CORE: [50.0] * 40})
    job.clock.advance(20)
    job.record({CPU: [50.0] * 40, CORE: [50.0] * 40})
    client = served_job(job)
    header, data = columns(client, f"series?keys={CPU}&px=2000")
    times = np.array(column(header["x"], data))
    means = np.array(column(header["series"][0]["parts"]["mean"], data))
    start = job.clock.now_ns() / NANOSECONDS - 40
    assert np.isnan(means[(times >= start) & (times < start + 19)]).any()
    header, data = columns(client, "heat?px=600")
    codes = np.array(column(header["values"], data))
    assert np.isnan(codes).sum() * header["columns"]["width"] == pytest.approx(20, abs=1.5)


def test_a_window_between_two_distant_samples_is_filled() -> None:
    job = changed_job(5.0, 0.5)
    start = job.clock.now_ns() / NANOSECONDS - 60
    header, data = columns(served_job(job), f"heat?px=500&t0={start + 11}&t1={start + 14}")
    assert column(header["values"], data) == [50.0] * header["columns"]["count"]


@pytest.mark.parametrize(("first", "second"), CHANGES)
def test_metrics_of_the_timeline_have_no_gap_where_the_interval_changed(
    first: float, second: float
) -> None:
    header, data = columns(served_job(changed_job(first, second)), "timeline?px=1200")
    for counter in header["counters"]:
        means = np.array(column(counter["mean"], data))
        known = np.flatnonzero(~np.isnan(means))
        assert len(known) > 4, counter["metric"]
        assert np.isnan(means[known[0] : known[-1] + 1]).sum() == 0, counter["metric"]
