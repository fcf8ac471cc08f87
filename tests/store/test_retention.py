"""The disk budget: the oldest raw data is removed, everything else stays readable."""

from collections.abc import Iterable

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from sonde.errors import NoSpaceError, StoreError
from sonde.records.notice import NoticeKind
from sonde.store.backends.memory import Memory
from sonde.store.format import FINDINGS, NOTICES, SCALARS
from sonde.store.layout import profile_key, values_key
from sonde.store.retention import keep_within, removed_keys
from tests.fakes.clock import START_NS
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob, all_samples


def recorded(hours: int = 4) -> FakeJob:
    """Return a job with sealed segments every half hour and one file of each kind that is kept."""
    job = FakeJob()
    noise = np.random.default_rng(1)
    for _ in range(hours):
        job.rotate().record({"cpu": noise.random(200), "gpu/gpu0": noise.random(200)})
        job.clock.advance(1800)
    job.writer.add(SCALARS, ("loss", START_NS, 1, "train", 0.5, "hook"))
    job.writer.add(FINDINGS, (START_NS, "a rule", "warning", "a message", "{}"))
    job.writer.notice(NoticeKind.CHANGED, "interval", "set")
    job.end()
    for family in (SCALARS, FINDINGS, NOTICES):
        job.seal(family)
    job.seal()
    return job


def total(job: FakeJob) -> int:
    return sum(entry.size for entry in job.backend.entries(""))


def raw_keys(job: FakeJob) -> list[str]:
    return [k for k in job.stored(".parquet") if "/system/" in k and "rollup" not in k]


def test_a_job_within_its_budget_keeps_everything() -> None:
    job = recorded()
    before = job.stored()

    removal = keep_within(job.backend, total(job))

    assert (removal.files, removal.bytes) == (0, 0)
    assert job.stored() == before


def test_the_oldest_raw_data_is_removed_first_and_no_more_than_needed() -> None:
    job = recorded()
    raws = raw_keys(job)
    job.backend.write(raws[0], job.backend.read(raws[0]))  # copied last, but recorded first

    removal = keep_within(job.backend, total(job) - 10)

    assert removal.files == 1
    assert raw_keys(job) == raws[1:]


def test_data_other_than_raw_data_is_never_removed() -> None:
    job = recorded()
    before = set(job.stored()) - set(raw_keys(job))

    keep_within(job.backend, 0)

    assert set(job.stored()) == before
    assert job.reader(SCALARS).rows().num_rows == 1
    assert job.reader(FINDINGS).rows().num_rows == 1
    assert job.reader(NOTICES).rows().num_rows == 1


def test_reading_falls_back_to_roll_ups_without_reporting_damage() -> None:
    job = recorded()
    complete = job.reader().rollup(60 * NANOSECONDS, ["cpu", "gpu/gpu0"])

    keep_within(job.backend, 0)

    reader = job.reader()
    remaining = reader.rollup(60 * NANOSECONDS, ["cpu", "gpu/gpu0"])
    np.testing.assert_array_equal(remaining.mean, complete.mean)
    np.testing.assert_array_equal(remaining.count, complete.count)
    assert all_samples(reader) == {"cpu": {}, "gpu/gpu0": {}}
    assert reader.damages == []


def test_buckets_have_the_width_of_the_remaining_roll_ups() -> None:
    job = recorded(2)
    keep_within(job.backend, total(job) - 10)

    rollup = job.reader().rollup(NANOSECONDS, ["cpu"])

    assert rollup.width_ns == 10 * NANOSECONDS
    assert rollup.count.sum() == 400
    assert (np.diff(rollup.starts_ns) >= rollup.width_ns).all()


def test_tensors_and_profiles_are_raw_data_too() -> None:
    job = FakeJob()
    keys = [values_key(0, "train", 5, "a"), profile_key(0, "torch", 5, "a")]
    for key in keys:
        job.backend.write(key, b"x" * 1000)

    removal = keep_within(job.backend, 0)

    assert removal.files == 2
    assert not set(keys) & set(job.stored())


def test_live_segments_are_not_removed() -> None:
    job = FakeJob().record({"cpu": [1, 2]})

    assert keep_within(job.backend, 0).files == 0


def test_remaining_data_can_be_merged_and_read() -> None:
    job = recorded()
    keep_within(job.backend, total(job) - 10)

    job.seal(merge_all=True)

    assert len(all_samples(job.reader())["cpu"]) == 600
    assert job.reader().rollup(600 * NANOSECONDS, ["cpu"]).count.sum() == 800


def test_a_damaged_manifest_does_not_prevent_removal() -> None:
    job = recorded()
    manifest = raw_keys(job)[0].removesuffix(".parquet") + ".json"
    job.backend.write(manifest, flipped(job.backend.read(manifest), 99))

    keep_within(job.backend, 0)

    assert raw_keys(job) == []


def test_a_file_without_a_manifest_yet_is_not_removed() -> None:
    job = recorded()
    first, *_ = raw_keys(job)
    job.backend.delete([first.removesuffix(".parquet") + ".json"])

    keep_within(job.backend, 0)

    assert raw_keys(job) == [first]


class Full(Memory):
    """A disk that is full until something is deleted."""

    is_full = False

    def write(self, key: str, data: bytes) -> None:
        if self.is_full:
            raise NoSpaceError("no space left on device")
        super().write(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        keys = list(keys)
        self.is_full = self.is_full and not keys
        super().delete(keys)


def test_raw_data_removed_from_a_full_disk_does_not_count_as_damage() -> None:
    job = recorded()
    blobs = [values_key(0, "train", 5, "a"), profile_key(0, "torch", 5, "a")]
    for key in blobs:
        job.backend.write(key, b"x" * 1000)
    full = Full(job.backend.uri)
    for _ in range(2):  # segments first, which are older, then files without a manifest
        full.is_full = True
        keep_within(full, total(job) - sum(len(job.backend.read(key)) for key in raw_keys(job)) - 9)

    assert not set(job.stored()) & set(blobs)
    assert raw_keys(job) == []
    assert removed_keys(job.backend) == set(blobs)
    assert job.reader().damages == []


def test_nothing_is_removed_if_the_removal_cannot_be_recorded() -> None:
    class ReadOnly(Memory):
        def write(self, key: str, data: bytes) -> None:
            raise StoreError("read-only file system")

    job = recorded()
    before = job.stored()
    with pytest.raises(StoreError, match="read-only"):
        keep_within(ReadOnly(job.backend.uri), 0)
    assert job.stored() == before
