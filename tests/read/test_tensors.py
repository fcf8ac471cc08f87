"""Statistics and full values of tensors, as read from the store."""

import numpy as np
import pytest

from sonde.errors import DamagedError
from sonde.read.tensors import (
    TensorRows,
    ValuesReader,
    joined,
    merge_shards,
    read_statistics,
    shares_outside,
)
from sonde.read.workers import WorkerReader
from sonde.store.statistics import COLUMNS, HISTOGRAM
from tests.fakes.job import FakeJob


def reader_of(job: FakeJob, rank: int = 0) -> WorkerReader:
    return job.job()._opened.worker(rank)


def statistics_of_weight(job: FakeJob, rank: int = 0) -> TensorRows:
    return read_statistics(reader_of(job, rank), "weight", "train", (*COLUMNS, HISTOGRAM))


def test_a_step_that_was_repeated_after_a_restart_has_its_last_statistics() -> None:
    job = FakeJob()
    for attempt, value in ((1, 1.0), (2, 5.0)):
        worker = job.worker(attempt=attempt)
        for step in (1, 2) if attempt == 1 else (2, 3):
            worker.statistics("weight", step, [value])
            job.clock.advance(1)
        worker.flush()
    rows = statistics_of_weight(job)
    assert rows.steps.tolist() == [1, 2, 3]
    assert rows.columns["maximum"].tolist() == [1.0, 5.0, 5.0]


def test_rows_that_were_taken_apart_and_joined_are_the_same() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(6):
        worker.statistics("weight", step, [float(step)])
    worker.flush()
    rows = statistics_of_weight(job)
    parts = [rows.take(slice(0, 2)), rows.take(slice(2, 6))]
    assert joined(parts[:1]) is parts[0]
    again = joined(parts)
    assert again.steps.tolist() == list(range(6))
    for name, column in rows.columns.items():
        assert again.columns[name].tolist() == column.tolist()


def test_shards_are_merged_at_the_steps_that_all_workers_recorded() -> None:
    job = FakeJob()
    for rank in range(2):
        worker = job.worker(rank, world_size=2)
        for step in (0, 1) if rank == 0 else (1, 2):
            worker.statistics("weight", step, [float(10 * rank + step), 1.0])
        worker.flush()
    shards = [statistics_of_weight(job, rank) for rank in range(2)]
    steps, times_ns, merged = merge_shards(shards)
    assert steps.tolist() == [1]
    assert len(times_ns) == 1
    numbers = [merged[name].tolist() for name in ("count", "minimum", "maximum", "sum")]
    assert numbers == [[4], [1.0], [11.0], [14.0]]


@pytest.mark.parametrize(
    ("values", "share"),
    [([0.1, 0.9], 0.0), ([-2.0, -1.0], 1.0), ([-4.0, -4.0, 0.5, 0.5], 0.5), ([np.nan], np.nan)],
)
def test_the_share_of_values_outside_a_range_comes_from_the_histogram(
    values: list[float], share: float
) -> None:
    job = FakeJob()
    job.worker().statistics("weight", 0, values).flush()
    [outside] = shares_outside(statistics_of_weight(job).columns, 0.0, 1.0)
    assert outside == pytest.approx(share, abs=0.05, nan_ok=True)


def test_full_values_are_those_of_the_file_that_was_saved_last() -> None:
    job = FakeJob()
    job.worker(attempt=1).values(3, {"weight": np.array([1.0])}).flush()
    job.worker(attempt=2).values(3, {"weight": np.array([2.0]), "bias": np.zeros(2)}).flush()
    values = ValuesReader(reader_of(job))
    assert list(values.files("train", "weight")) == [3]
    assert values.files("eval", "weight") == {}
    file = values.files("train", "bias")[3]
    assert values.value(file, "weight").tolist() == [2.0]


def test_a_damaged_file_of_values_is_reported_and_the_others_are_listed() -> None:
    job = FakeJob()
    worker = job.worker().values(1, {"weight": np.zeros(4)}).values(2, {"weight": np.ones(4)})
    worker.flush()
    values = ValuesReader(reader_of(job))
    key = values.files("train", "weight")[1].key
    job.backend.write(key, job.backend.read(key)[:-1])
    values = ValuesReader(reader_of(job))
    assert list(values.files("train", "weight")) == [2]
    assert "is damaged" in values.damaged["train", 1]


def test_a_tensor_that_is_not_in_its_file_is_damage() -> None:
    job = FakeJob()
    job.worker().values(1, {"weight": np.zeros(4)}).flush()
    values = ValuesReader(reader_of(job))
    with pytest.raises(DamagedError):
        values.value(values.files("train", "weight")[1], "bias")
