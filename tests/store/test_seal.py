"""Sealing and merging neither lose nor duplicate data, even after crashes and conflicts."""

import threading

import pytest

from sonde.store.backends import View
from sonde.store.format import EVENTS, SCALARS
from tests.fakes.clock import START_NS
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob, all_samples


def recorded(segments: int, uri: str = "") -> FakeJob:
    """Return a job with a number of segments of two ticks each."""
    job = FakeJob(uri)
    for number in range(segments):
        job.rotate().record({"cpu": [2 * number, 2 * number + 1]})
    return job


def values(job: FakeJob) -> list[float]:
    return list(all_samples(job.reader()).get("cpu", {}).values())


def contents(job: FakeJob) -> dict[str, bytes]:
    return {key: job.backend.read(key) for key in job.stored() if "/system/" in key}


def test_the_newest_segment_of_a_live_writer_is_not_sealed() -> None:
    job = recorded(3)

    assert job.seal(is_over=False) == 2

    assert len(job.stored(".frames")) == 1
    assert values(job) == list(range(6))


def test_after_the_writer_ends_its_newest_segment_is_sealed() -> None:
    job = recorded(3)

    assert job.seal() == 3

    assert job.stored(".frames") == []
    assert values(job) == list(range(6))


def test_six_consecutive_segments_are_merged_and_six_of_those_again() -> None:
    job = recorded(36)

    job.seal()

    (segment,) = job.reader().segments
    assert len(segment.parts) == 36
    assert values(job) == list(range(72))
    assert len([key for key in job.stored() if "/system/" in key and "rollup" not in key]) == 2


def test_five_consecutive_segments_are_not_merged() -> None:
    job = recorded(5)

    job.seal()

    assert len(job.reader().segments) == 5


def test_merging_all_leaves_one_segment() -> None:
    job = recorded(5)

    job.seal(merge_all=True)

    assert len(job.reader().segments) == 1
    assert values(job) == list(range(10))


def test_a_crash_before_sources_are_deleted_causes_no_duplicates() -> None:
    job = recorded(6)
    before = contents(job)
    job.seal(is_over=False)  # five are sealed
    between = contents(job)
    job.seal()  # all are merged
    after = contents(job)
    for key, data in (before | between).items():
        job.backend.write(key, data)
    assert values(job) == list(range(12))

    job.seal()

    assert contents(job) == after
    assert values(job) == list(range(12))


def test_after_a_crash_before_the_manifest_sealing_is_repeated() -> None:
    job = recorded(6)
    job.seal(is_over=False)
    before = contents(job)
    twin = recorded(0)
    for key, data in before.items():
        twin.backend.write(key, data)
    job.seal()
    for key, data in contents(job).items():
        if key.endswith(".parquet"):
            twin.backend.write(key, data)
    assert values(twin) == list(range(12))

    twin.seal()

    assert contents(twin) == contents(job)


def test_sealing_again_writes_nothing() -> None:
    job = recorded(7)
    job.seal()
    before = contents(job)

    assert job.seal() == 0

    assert contents(job) == before


def test_two_processes_that_seal_the_same_segment_write_the_same_bytes() -> None:
    job = recorded(12)
    twin = FakeJob()
    for key in job.stored(".frames"):
        twin.backend.write(key, job.backend.read(key))
    twin.seal()

    both = [threading.Thread(target=job.seal) for _ in range(2)]
    for item in both:
        item.start()
    for item in both:
        item.join()
    job.seal()

    assert contents(job) == contents(twin)
    assert values(job) == list(range(24))
    assert job.reader().damages == []


def test_a_merge_that_another_process_completes_first_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = recorded(8)
    job.seal(is_over=False)  # 6 are merged, one is sealed, one is live
    job.seal()
    view = job.backend.view
    was_overtaken: list[str] = []

    def view_after_the_other_has_merged(key: str) -> View:
        if not was_overtaken:
            was_overtaken.append(key)
            job.seal(merge_all=True)
        return view(key)

    monkeypatch.setattr(job.backend, "view", view_after_the_other_has_merged)

    job.seal(merge_all=True)

    assert was_overtaken
    assert values(job) == list(range(16))
    assert len(job.reader().segments) == 1
    assert job.reader().damages == []


def test_a_damaged_segment_is_not_merged() -> None:
    job = recorded(6)
    job.seal(is_over=False)
    raw = next(key for key in job.stored(".parquet") if "rollup" not in key)
    job.backend.write(raw, flipped(job.backend.read(raw), 64))

    job.seal(merge_all=True)

    assert values(job) == list(range(2, 12))
    assert len(job.reader().segments) == 2
    reader = job.reader()
    all_samples(reader)
    assert len(reader.damages) == 1


def test_a_sealed_segment_records_its_number_of_damaged_frames() -> None:
    job = recorded(1).record({"cpu": [2]})
    (key,) = job.stored(".frames")
    data = job.backend.read(key)
    job.backend.write(key, flipped(data, 8 * (len(data) - 5)))

    job.seal()

    assert values(job) == [0, 1]
    (note,) = job.reader().damages
    assert "1 damaged frame skipped when it was sealed" in note


def test_a_segment_without_readable_rows_is_not_sealed() -> None:
    job = recorded(1)
    (key,) = job.stored(".frames")
    job.backend.write(key, bytes(len(job.backend.read(key))))

    assert job.seal() == 0

    assert job.stored(".frames") == [key]


def test_rows_of_any_text_survive_sealing_and_merging() -> None:
    job = FakeJob()
    for step in range(8):
        job.writer.add(EVENTS, (f"schritt {step} …", "", "a\x00b", step, 1, step, "🜁", "{}"))
        job.flush()
        job.clock.advance(600)
    before = job.reader(EVENTS).rows().to_pylist()

    job.seal(EVENTS)
    job.seal(EVENTS, merge_all=True)

    assert job.reader(EVENTS).rows().to_pylist() == before
    assert len(before) == 8


def test_a_manifest_has_the_range_of_its_steps() -> None:
    job = FakeJob()
    for step in (7, 3, 9):
        job.writer.add(SCALARS, ("loss", START_NS, step, "train", 0.5, "hook"))
    job.flush().seal(SCALARS)

    extent = job.reader(SCALARS).segments[0].extent

    assert extent is not None
    assert (extent.first_step, extent.last_step) == (3, 9)
