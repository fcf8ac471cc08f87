"""Reading a folder while other processes seal, merge and remove segments."""

import io

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.clock import NANOSECONDS
from sonde.records.ranges import StepRange, TimeRange
from sonde.store.format import SCALARS
from sonde.store.reader import FolderReader
from sonde.store.retention import keep_within
from tests.fakes.clock import START_NS
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob, all_samples

TICKS = 24


@given(st.sets(st.integers(1, TICKS - 1), max_size=8), st.sets(st.integers(1, TICKS), max_size=3))
@settings(max_examples=25)
def test_any_split_into_segments_reads_the_same_live_sealed_and_merged(
    cuts: set[int], seals: set[int]
) -> None:
    job = FakeJob()
    expected = {}
    for tick in range(TICKS):
        if tick in cuts:
            job.rotate()
        expected[job.clock.now_ns()] = float(tick)
        job.record({"cpu": [tick]})
        if tick in seals:
            job.seal(is_over=False)

    assert all_samples(job.reader()) == {"cpu": expected}
    job.seal()
    assert all_samples(job.reader()) == {"cpu": expected}
    job.seal(merge_all=True)
    assert all_samples(reader := job.reader()) == {"cpu": expected}
    assert len(reader.segments) == 1
    assert reader.damages == []


def test_an_open_reader_returns_the_same_across_sealing_and_merging() -> None:
    job = FakeJob()
    reader = job.reader()
    for number in range(8):
        job.rotate().record({"cpu": [number]})
        if number % 2:
            job.seal(is_over=False)
        reader.refresh()
        assert list(all_samples(reader)["cpu"].values()) == list(range(number + 1))


@pytest.mark.parametrize("what", ["samples", "rows", "rollup"])
def test_a_segment_merged_after_listing_is_read_from_its_successor(what: str) -> None:
    job = FakeJob()
    for number in range(3):
        job.rotate().record({"cpu": [number]})
        job.writer.add(SCALARS, ("loss", START_NS + number, number, "train", 0.5, "hook"))
        job.flush().clock.advance(600)
    family = SCALARS if what == "rows" else None
    for merge_all in (False, True):
        reader = job.reader(family) if family else job.reader()
        job.seal(merge_all=merge_all)
        job.seal(SCALARS, merge_all=merge_all)

        if what == "rows":
            assert reader.rows()["step"].to_pylist() == [0, 1, 2]
        elif what == "samples":
            assert reader.samples(["cpu"])[1].tolist() == [[0, 1, 2]]
        else:
            assert reader.rollup(NANOSECONDS // 10, ["cpu"]).count.sum() == 3
        assert reader.damages == []


def test_a_segment_sealed_during_listing_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = FakeJob().record({"cpu": [1, 2]})
    reader = FolderReader(job.backend, "nodes/node-a", job.reader()._family)
    entries = job.backend.entries
    listings: list[str] = []

    def list_and_then_seal(folder: str) -> object:
        result = entries(folder)
        if not listings:
            listings.append(folder)
            job.seal()
        return result

    monkeypatch.setattr(job.backend, "entries", list_and_then_seal)

    reader.refresh()

    assert all_samples(reader)["cpu"] == all_samples(job.reader())["cpu"]
    assert len(all_samples(reader)["cpu"]) == 2


def test_an_open_reader_uses_roll_ups_after_raw_data_is_removed() -> None:
    job = FakeJob().record({"cpu": range(100)})
    job.seal()
    reader = job.reader()

    keep_within(job.backend, 0)

    assert reader.samples(["cpu"])[1].shape == (1, 0)
    assert reader.rollup(10 * NANOSECONDS, ["cpu"]).count.sum() == 100
    assert reader.damages == []


def test_buckets_at_the_edges_of_a_range_are_complete() -> None:
    job = FakeJob().record({"cpu": range(100)})
    within = TimeRange(START_NS + 12 * NANOSECONDS, START_NS + 33 * NANOSECONDS)
    before = job.reader().rollup(10 * NANOSECONDS, ["cpu"], within)
    finer = job.reader().rollup(3 * NANOSECONDS, ["cpu"], within)
    job.seal()

    after = job.reader().rollup(10 * NANOSECONDS, ["cpu"], within)

    assert before.count.tolist() == [[20, 20, 20]]
    for item, second in (
        (before, after),
        (finer, job.reader().rollup(3 * NANOSECONDS, ["cpu"], within)),
    ):
        np.testing.assert_array_equal(item.starts_ns, second.starts_ns)
        np.testing.assert_array_equal(item.count, second.count)
        np.testing.assert_array_equal(item.mean, second.mean)


def test_samples_of_interleaved_writers_are_in_order_of_time() -> None:
    first = FakeJob().record({"cpu": [0, 2, 4]}, every_seconds=2)
    second = FakeJob(first.backend.uri)
    second.clock.advance(1)
    second.record({"cpu": [1, 3, 5]}, every_seconds=2)

    for _ in range(2):
        times, values = first.reader().samples(["cpu"])
        assert values.tolist() == [[0, 1, 2, 3, 4, 5]]
        assert sorted(times) == times.tolist()
        buckets = first.reader().rollup(2 * NANOSECONDS, ["cpu"])
        assert buckets.count.tolist() == [[2, 2, 2]]
        first.seal(merge_all=True)


def test_a_damaged_manifest_costs_its_segment_and_is_reported() -> None:
    job = FakeJob().record({"cpu": [1]})
    job.seal()
    job.rotate().record({"cpu": [2]})
    (key,) = job.stored(f"{job.writer.token}.json")
    job.backend.write(key, flipped(job.backend.read(key), 400))

    reader = job.reader()

    assert list(all_samples(reader)["cpu"].values()) == [2]
    assert len(reader.damages) == 1


def test_a_reader_releases_the_memory_of_sealed_segments() -> None:
    job = FakeJob()
    reader = job.reader()
    for number in range(5):
        job.rotate().record({"cpu": [number]})
        reader.refresh()
        job.seal()
    reader.refresh()

    assert reader._live_segments == {}


def test_an_empty_folder_has_no_rows() -> None:
    reader = FakeJob().reader()

    assert reader.extent is None
    assert reader.samples(["cpu"])[1].shape == (1, 0)
    assert reader.rollup(NANOSECONDS, ["cpu"]).count.shape == (1, 0)
    assert FakeJob().reader(SCALARS).rows().num_rows == 0


def test_rows_are_found_by_step_in_live_and_sealed_segments() -> None:
    job = FakeJob()
    for step in range(10):
        job.writer.add(SCALARS, ("loss", job.clock.now_ns(), step, "train", float(step), "hook"))
    job.flush()
    requested = StepRange(3, 6)
    assert job.reader(SCALARS).rows(steps=requested)["step"].to_pylist() == [3, 4, 5]
    job.seal(SCALARS)
    reader = job.reader(SCALARS)
    assert reader.rows(steps=requested)["step"].to_pylist() == [3, 4, 5]
    assert reader.rows(steps=StepRange(100)).num_rows == 0


@pytest.mark.parametrize("is_sealed", [False, True])
def test_columns_and_texts_can_be_selected(is_sealed: bool) -> None:
    job = FakeJob()
    for step in range(4):
        for name in ("loss", "rate"):
            job.writer.add(SCALARS, (name, START_NS, step, "train", step + 0.5, "hook"))
        job.flush()
    if is_sealed:
        job.seal(SCALARS)
    reader = job.reader(SCALARS)
    only = {"name": {"rate", "never"}, "mode": {"train"}}

    table = reader.rows(steps=StepRange(2), columns=("step", "value"), only=only)

    assert table.to_pydict() == {"step": [2, 3], "value": [2.5, 3.5]}
    nothing = reader.rows(columns=("value",), only={"name": {"never"}})
    assert nothing.to_pydict() == {"value": []}


def test_damage_to_columns_that_are_not_requested_does_no_harm() -> None:
    job = FakeJob()
    for step in range(100):
        job.writer.add(SCALARS, ("loss", START_NS, step, "train", np.sqrt(step), "hook"))
    job.flush().seal(SCALARS)
    [key] = job.stored(".parquet")
    content = job.backend.read(key)
    values = pq.read_metadata(io.BytesIO(content)).row_group(0).column(4)
    assert values.path_in_schema == "value"
    job.backend.write(key, flipped(content, 8 * (values.data_page_offset + 100)))
    reader = job.reader(SCALARS)

    steps = reader.rows(columns=("step",))["step"].to_pylist()
    assert reader.damages == []
    assert steps == list(range(100))
    assert reader.rows(columns=("step", "value")).num_rows == 0
    assert len(reader.damages) == 1
