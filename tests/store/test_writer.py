"""The writer: buffering, rotation, segment names and invalid values."""

import json
from array import array
from dataclasses import replace

import pytest

from sonde.clock import NANOSECONDS
from sonde.errors import StoreError
from sonde.records.notice import Notice, NoticeKind
from sonde.store import writer as module
from sonde.store.backends import open_backend
from sonde.store.format import EVENTS, NOTICES, SCALARS
from sonde.store.frames import FrameScan
from sonde.store.layout import SegmentName
from sonde.store.writer import Writer
from tests.fakes.clock import START_NS, FakeClock
from tests.fakes.job import FakeJob, all_samples, series_of


def test_nothing_is_written_before_the_flush() -> None:
    job = FakeJob()
    job.writer.add_sample(job.clock.now_ns(), (series_of("cpu"),), [1.0])
    assert job.stored(".frames") == []

    job.flush()

    assert len(job.stored(".frames")) == 1


def test_an_empty_flush_writes_nothing() -> None:
    job = FakeJob()

    assert job.flush().stored(".frames") == []


def test_a_segment_is_named_after_its_first_sample_and_its_writer() -> None:
    job = FakeJob().record({"cpu": [1.0]})

    name = job.stored(".frames")[0].rpartition("/")[2].removesuffix(".frames")

    assert SegmentName.parse(name) == SegmentName(START_NS, job.writer.token)


def test_a_segment_starts_with_format_family_and_series() -> None:
    job = FakeJob().record({"gpu.power_watts/gpu0": [1.0]})

    frames = list(FrameScan(job.backend.read(job.stored(".frames")[0])))

    assert json.loads(frames[0].payload) == {
        "format": 1,
        "family": "system",
        "owner": f"nodes/node-a/system/{job.writer.token}",
        "series": [
            {
                "metric": {
                    "name": "gpu.power_watts",
                    "unit": "watts",
                    "help": "what gpu.power_watts means",
                },
                "device": "gpu0",
            }
        ],
    }


def test_flushes_append_to_one_segment_for_ten_minutes() -> None:
    job = FakeJob()

    job.record({"cpu": range(61)}, every_seconds=10, ticks_per_flush=1)

    assert len(job.stored(".frames")) == 2
    assert job.writer.segments_closed == 1


def test_a_large_segment_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 2000)
    job = FakeJob()

    for _ in range(20):
        job.record({f"metric-{number}": [float(number)] for number in range(30)})

    sizes = [entry.size for entry in job.backend.entries("nodes") if "/system/" in entry.key]
    assert len(sizes) > 1
    assert max(sizes) < 5000
    assert job.reader().extent.rows == 20  # type: ignore[union-attr]


def test_new_series_start_a_new_segment_and_are_nan_before() -> None:
    job = FakeJob().record({"cpu": [1, 2]}).record({"cpu": [3, 4], "gpu/gpu0": [8, 9]})

    assert len(job.stored(".frames")) == 2
    assert all_samples(job.reader()) == {
        "cpu": {START_NS + tick * NANOSECONDS // 2: tick + 1.0 for tick in range(4)},
        "gpu/gpu0": {START_NS + tick * NANOSECONDS // 2: tick + 6.0 for tick in (2, 3)},
    }


def test_each_family_has_its_own_segments() -> None:
    job = FakeJob().record({"cpu": [1.0]})
    job.writer.add(SCALARS, ("loss", job.clock.now_ns(), 3, "train", 0.25, "hook"))
    job.writer.add(EVENTS, ("step", "loop", "main", 5, 6, 3, "train", "{}"))
    job.flush()

    assert sorted(key.split("/")[-2] for key in job.stored(".frames")) == [
        "events",
        "scalars",
        "system",
    ]
    assert job.reader(SCALARS).rows().to_pylist()[0]["value"] == 0.25


def test_a_notice_has_the_current_time() -> None:
    job = FakeJob()
    job.writer.notice(NoticeKind.CHANGED, "interval", "set to 1s on request")

    row = job.flush().reader(NOTICES).rows().to_pylist()[0]

    assert row == {
        "kind": "changed",
        "what": "interval",
        "reason": "set to 1s on request",
        "start_ns": START_NS,
        "end_ns": START_NS,
    }


@pytest.mark.parametrize(
    "row",
    [
        ("loss", 1, 2**63, "train", 0.5, "hook"),
        ("loss", 1, 2, "train"),
        ("loss", 1, 2, "train", "much", "hook"),
    ],
)
def test_a_batch_that_cannot_be_encoded_is_reported_as_lost(row: tuple[object]) -> None:
    job = FakeJob()
    job.writer.add(SCALARS, row)
    job.record({"cpu": [1.0]})
    job.writer.add(SCALARS, ("loss", job.clock.now_ns(), 4, "train", 0.25, "hook"))

    job.flush().flush()

    assert job.reader(SCALARS).rows()["step"].to_pylist() == [4]
    assert all_samples(job.reader())["cpu"] == {START_NS: 1.0}
    (lost,) = job.reader(NOTICES).rows().to_pylist()
    assert (lost["kind"], lost["what"]) == ("lost", "scalars")
    assert "cannot encode" in lost["reason"]


def test_closing_writes_the_last_records() -> None:
    job = FakeJob()
    job.writer.add_sample(job.clock.now_ns(), (series_of("cpu"),), [7.0])

    assert job.writer.close(1.0) == []

    assert all_samples(job.reader()) == {"cpu": {START_NS: 7.0}}


def test_two_writers_in_one_folder_do_not_interfere() -> None:
    backend = open_backend("memory://two-writers-in-one-folder")
    clock = FakeClock()
    writers = [Writer(backend, "nodes/a", clock) for _ in range(2)]

    for number, writer in enumerate(writers):
        writer.add_sample(clock.now_ns() + number, (series_of("cpu"),), [float(number)])
        writer.close(1.0)

    assert len(backend.entries("nodes/a")) == 2


def test_losses_at_the_end_can_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    job = FakeJob()
    job.writer.add_sample(job.clock.now_ns(), (series_of("cpu"),), [7.0])
    append = job.backend.append

    def full(*_: object) -> None:
        raise StoreError("Cannot write: no space left on device")

    monkeypatch.setattr(job.backend, "append", full)
    assert [lost.what for lost in job.writer.close(1.0)] == ["system samples"]
    monkeypatch.setattr(job.backend, "append", append)
    monkeypatch.setattr(job.backend, "free_bytes", lambda: 0)
    monkeypatch.setattr(job.backend, "size_bytes", lambda: 1 << 40)

    job.writer.record_losses()

    (reported,) = job.reader(NOTICES).rows().to_pylist()
    assert reported["what"] == "system samples"
    assert reported["reason"] == "Cannot write: no space left on device"


def test_a_loss_of_events_is_a_loss_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    job = FakeJob()
    now_ns = job.clock.now_ns()
    job.writer.add(SCALARS, ("loss", now_ns, 0, "train", 0.5, "hook"))
    job.writer.add(EVENTS, ("step", "step", "", now_ns, 1, 0, "train", ""))

    def full(*_: object) -> None:
        raise StoreError("Cannot write: no space left on device")

    monkeypatch.setattr(job.backend, "append", full)
    lost = {notice.what: notice.kind for notice in job.writer.close(1.0)}
    assert lost == {"scalars": NoticeKind.LOST, "events": NoticeKind.LOST_STEPS}


def test_later_losses_need_no_further_file() -> None:
    job = FakeJob()
    loss = Notice(NoticeKind.LOST, "system samples", "no space left on device", 1, 2)
    job.writer.close(1.0)
    for what in ("scalars", "rules"):
        job.writer.report_lost(replace(loss, what=what))
        assert job.writer.record_losses()
    assert len(job.stored(".frames")) == 1
    assert [row["what"] for row in job.reader(NOTICES).rows().to_pylist()] == ["scalars", "rules"]


def test_rows_written_as_columns_are_read_as_rows() -> None:
    job = FakeJob()
    now_ns = job.clock.now_ns()
    columns = (["a", "b"], array("q", [now_ns, now_ns + 1]), [1, 2], ["train"] * 2)

    job.writer.add_columns(
        SCALARS, (*columns, array("d", [0.5, 1.5]), ["hook"] * 2), now_ns, now_ns
    )

    rows = job.flush().reader(SCALARS).rows().to_pylist()
    assert [(row["name"], row["step"], row["value"]) for row in rows] == [
        ("a", 1, 0.5),
        ("b", 2, 1.5),
    ]
