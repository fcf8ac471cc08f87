"""System samples of one node: series, values, buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.clock import NANOSECONDS
from sonde.read.system import bucket_width_ns
from sonde.records.ranges import TimeRange
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob

CURVES = {"cpu.user": range(100), "gpu.power/gpu0": range(100), "gpu.power/gpu1": range(100)}


@given(st.integers(0, 10**18), st.integers(2, 5000), st.integers(0, 10**12))
def test_a_span_never_needs_more_than_the_requested_buckets(
    span_ns: int, max_buckets: int, start_ns: int
) -> None:
    width_ns = bucket_width_ns(span_ns, max_buckets)

    first, last = start_ns // width_ns, (start_ns + span_ns) // width_ns
    assert last - first + 1 <= max_buckets


@pytest.mark.parametrize(
    ("span_seconds", "max_buckets", "width_seconds"),
    [(0, 1000, 0.1), (60, 1000, 0.1), (3600, 1000, 5), (86_400, 1000, 120), (86_400, 2, 86_400)],
)
def test_the_narrowest_sufficient_width_is_used(
    span_seconds: int, max_buckets: int, width_seconds: float
) -> None:
    assert bucket_width_ns(span_seconds * NANOSECONDS, max_buckets) == width_seconds * NANOSECONDS


def test_years_fit_into_a_few_buckets() -> None:
    assert bucket_width_ns(10 * 365 * 86_400 * NANOSECONDS, 11) == 365 * 86_400 * NANOSECONDS


def test_series_are_selected_by_pattern_and_device() -> None:
    system = FakeJob().record(CURVES).system()

    assert [series.key for series in system.series("gpu.*")] == ["gpu.power/gpu0", "gpu.power/gpu1"]
    assert [series.key for series in system.series(device="gpu1")] == ["gpu.power/gpu1"]
    assert [series.key for series in system.series(device="")] == ["cpu.user"]
    assert system.series("nothing") == ()


@pytest.mark.parametrize("is_sealed", [False, True])
def test_buckets_are_limited_in_number_and_contain_every_sample(is_sealed: bool) -> None:
    job = FakeJob().record(CURVES)
    if is_sealed:
        job.seal()
    system = job.system()

    rollup = system.buckets(system.series("cpu.*"), 10)

    assert len(rollup.starts_ns) <= 10
    assert rollup.count.sum() == 100
    assert rollup.maximum.max() == 99


def test_the_width_of_buckets_depends_on_the_range() -> None:
    job = FakeJob().record(CURVES)
    system = job.system()
    within = TimeRange(START_NS, START_NS + 2 * NANOSECONDS)

    assert system.buckets(system.series(), 1000, within).width_ns == NANOSECONDS // 10


def test_a_node_without_samples_has_no_buckets() -> None:
    system = FakeJob().system()

    assert system.extent is None
    assert system.series() == ()
    assert system.buckets((), 10).count.shape == (0, 0)


def test_a_refresh_reads_new_samples() -> None:
    job = FakeJob().record({"cpu": [1]})
    system = job.system()
    job.record({"cpu": [2]})

    system.refresh()

    assert system.samples(system.series())[1].tolist() == [[1, 2]]
