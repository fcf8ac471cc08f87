"""Reading a segment while it grows, after sealing, and with damage."""

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from sonde.errors import FormatTooNewError
from sonde.records.ranges import TimeRange
from sonde.store import seal as seal_module
from sonde.store import writer as writer_module
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.format import SCALARS
from sonde.store.manifest import Manifest
from tests.fakes.clock import START_NS
from tests.fakes.damage import all_flips, flipped
from tests.fakes.job import FakeJob, all_samples

CURVES = {
    "cpu.user_percent": np.linspace(1, 50, 300),
    "memory.used_bytes": np.linspace(1e9, 2e9, 300),
    "gpu.power_watts/gpu0": np.linspace(70, 700, 300),
}


def short_job() -> FakeJob:
    return FakeJob().record({"cpu": [1, 2, 3], "gpu/gpu0": [4, 5, 6]}, ticks_per_flush=1)


def sealed_job(monkeypatch: pytest.MonkeyPatch) -> FakeJob:
    """Return a job with a sealed segment of several row groups."""
    monkeypatch.setattr(seal_module, "ROW_GROUP_ROWS", 128)
    job = FakeJob().record(CURVES, ticks_per_flush=50)
    job.seal()
    return job


def assert_right_or_missing(
    result: dict[str, dict[int, float]], expected: dict[str, dict[int, float]]
) -> bool:
    """Return whether the result is complete; assert that no value in it is wrong."""
    for key, values in result.items():
        assert values.items() <= expected[key].items()
    return result == expected


def test_every_flipped_bit_of_a_live_segment_is_detected() -> None:
    job = short_job()
    (key,) = job.stored(".frames")
    expected = all_samples(job.reader())
    data = job.backend.read(key)

    for bit, damaged in all_flips(data, step=3):
        job.backend.write(key, damaged)
        reader = job.reader()
        assert_right_or_missing(all_samples(reader), expected)
        assert len(reader.damages) == 1, bit
        rows = sum(len(values) for values in all_samples(reader).values())
        assert rows in (
            4,
            6,
        )  # the schema is stored twice; a damaged batch costs one tick of two series


def test_damage_at_the_end_of_a_growing_segment_is_reported_once() -> None:
    job = short_job()
    (key,) = job.stored(".frames")
    reader = job.reader()
    complete = job.backend.read(key)
    job.record({"cpu": [7], "gpu/gpu0": [8]})
    grown = job.backend.read(key)
    job.backend.write(key, flipped(grown, 8 * len(complete)))
    reader.refresh()
    job.record({"cpu": [9], "gpu/gpu0": [9]})

    reader.refresh()

    assert list(all_samples(reader)["cpu"].values()) == [1, 2, 3, 9]
    assert len(reader.damages) == 1


def test_only_new_data_of_a_growing_segment_is_read() -> None:
    job = short_job()
    reader = job.reader()
    job.record({"cpu": [7], "gpu/gpu0": [8]})
    assert reader.extent is not None
    assert reader.extent.rows == 3

    reader.refresh()

    assert list(all_samples(reader)["gpu/gpu0"].values()) == [4, 5, 6, 8]


@pytest.mark.parametrize("cut", [1, 10, 25])
def test_an_incomplete_frame_at_the_end_is_read_once_it_is_complete(cut: int) -> None:
    job = short_job()
    (key,) = job.stored(".frames")
    complete = job.backend.read(key)
    job.backend.write(key, complete[:-cut])
    reader = job.reader()
    assert list(all_samples(reader)["cpu"].values()) == [1, 2]

    job.backend.write(key, complete)
    reader.refresh()

    assert list(all_samples(reader)["cpu"].values()) == [1, 2, 3]
    assert reader.damages == []


@pytest.mark.parametrize("suffix", [".parquet", ".rollup.parquet", ".json"])
def test_a_flipped_bit_of_a_sealed_segment_never_changes_a_value(
    monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    job = sealed_job(monkeypatch)
    (key,) = job.stored(f"{job.writer.token}{suffix}")
    expected, width_ns = all_samples(job.reader()), 10 * NANOSECONDS
    series = list(CURVES)
    buckets = job.reader().rollup(width_ns, series)
    data = job.backend.read(key)
    step = max(1, 8 * len(data) // 300 - 1)

    noticed = 0
    for _, damaged in all_flips(data, step):
        job.backend.write(key, damaged)
        reader = job.reader()
        is_whole = assert_right_or_missing(all_samples(reader), expected)
        values = reader.rollup(width_ns, series)
        is_known = values.count > 0
        if values.mean.shape == buckets.mean.shape:
            is_whole &= bool(is_known.all())
            np.testing.assert_array_equal(values.mean[is_known], buckets.mean[is_known])
            np.testing.assert_array_equal(values.maximum[is_known], buckets.maximum[is_known])
        else:
            is_whole = False
            assert set(values.starts_ns) <= set(buckets.starts_ns)
        assert is_whole == (not reader.damages)
        noticed += bool(reader.damages)

    assert noticed > 150


def test_damage_to_one_series_does_not_affect_others(monkeypatch: pytest.MonkeyPatch) -> None:
    job = sealed_job(monkeypatch)
    (key,) = [key for key in job.stored(".parquet") if not key.endswith(".rollup.parquet")]
    expected = all_samples(job.reader())
    # the last byte before the footer belongs to the last series of the last row group
    data = job.backend.read(key)
    footer = int.from_bytes(data[-8:-4], "little") + 8
    job.backend.write(key, flipped(data, 8 * (len(data) - footer - 2)))

    values = all_samples(reader := job.reader())

    assert values["cpu.user_percent"] == expected["cpu.user_percent"]
    assert values["memory.used_bytes"] == expected["memory.used_bytes"]
    assert len(values["gpu.power_watts/gpu0"]) == 256
    assert len(reader.damages) == 1


def test_a_missing_sealed_file_is_reported_and_costs_only_its_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = sealed_job(monkeypatch)
    job.record({"cpu.user_percent": [5.0]})
    raw = next(key for key in job.stored(".parquet") if "rollup" not in key)
    job.backend.delete([raw])

    reader = job.reader()

    assert list(all_samples(reader)["cpu.user_percent"].values()) == [5.0]
    assert len(reader.damages) == 1


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_range_excludes_its_end(is_sealed: bool) -> None:
    job = FakeJob().record({"cpu": range(10)}, every_seconds=1)
    if is_sealed:
        job.seal()
    within = TimeRange(START_NS + 2 * NANOSECONDS, START_NS + 5 * NANOSECONDS)

    _, values = job.reader().samples(["cpu", "not there"], within)

    assert values[0].tolist() == [2, 3, 4]
    assert np.isnan(values[1]).all()


@pytest.mark.parametrize("is_sealed", [False, True])
def test_rows_of_a_range_are_in_the_order_of_writing(is_sealed: bool) -> None:
    job = FakeJob()
    for step in range(6):
        job.writer.add(SCALARS, ("loss", START_NS + step, step, "train", 0.5, "hook"))
    job.flush()
    if is_sealed:
        job.seal(SCALARS)

    table = job.reader(SCALARS).rows(TimeRange(START_NS + 1, START_NS + 4))

    assert table["step"].to_pylist() == [1, 2, 3]


def test_a_live_segment_of_a_newer_format_is_refused_with_advice_to_upgrade(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_module, "FORMAT_VERSION", 2)
    job = short_job()

    with pytest.raises(FormatTooNewError, match=r"\.frames .*pip install -U sonde"):
        job.reader()


def test_a_sealed_segment_of_a_newer_format_is_refused_with_advice_to_upgrade(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = short_job()
    job.seal()
    (key,) = job.stored(f"{job.writer.token}.json")
    manifest = decode_facts(Manifest, job.backend.read(key), key)
    monkeypatch.setattr("sonde.store.facts.FORMAT_VERSION", 2)
    job.backend.write(key, encode_facts(manifest))

    with pytest.raises(FormatTooNewError, match=r"\.json .*pip install -U sonde"):
        job.reader()
