import numpy as np

from sonde.clock import NANOSECONDS
from sonde.exports import _export
from sonde.records.ranges import TimeRange
from tests.exports.selections import select
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob


def test_the_batches_of_a_long_job_contain_all_of_it() -> None:
    ticks = 3 * _export._BATCH_ROWS
    job = FakeJob()
    job.record({"cpu.user_percent": map(float, range(ticks))}, ticks_per_flush=ticks)
    batches = list(select(job).batches())
    assert len(batches) >= 3
    assert max(len(batch.times_ns) for batch in batches) <= _export._BATCH_ROWS + 1
    joined = np.concatenate([batch.values[0] for batch in batches])
    assert joined.tolist() == list(range(ticks))


def test_a_range_is_exact_and_excludes_its_end() -> None:
    job = FakeJob().record({"cpu.user_percent": map(float, range(20))})
    within = TimeRange(START_NS + NANOSECONDS, START_NS + 2 * NANOSECONDS)
    batches = select(job, within=within).batches()
    values = [value for batch in batches for value in batch.values[0].tolist()]
    assert values == [2.0, 3.0]


def test_a_job_without_samples_has_no_batches() -> None:
    assert list(select(FakeJob()).batches()) == []


def test_a_range_beyond_the_job_has_no_batches() -> None:
    job = FakeJob().record({"cpu.user_percent": [1.0] * 4})
    assert list(select(job, within=TimeRange(START_NS + 10**15)).batches()) == []


def test_batches_add_up_to_the_announced_number_of_values() -> None:
    job = FakeJob().record({"cpu.user_percent": [1.0] * 40, "cpu.idle_percent": [9.0] * 40})
    selection = select(job)
    assert sum(batch.values.size for batch in selection.batches()) == selection.values == 80
