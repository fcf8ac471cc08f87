"""Damaged and missing files are reported with their content and time range."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sonde.client.job import Job
from sonde.errors import DamagedError
from sonde.records.job import Exit, ExitReason, JobState
from sonde.records.notice import Notice, NoticeKind
from sonde.store.backends import open_backend
from sonde.store.facts import encode_facts
from sonde.store.format import EVENTS, NOTICES
from sonde.store.frames import FrameScan
from sonde.store.layout import EXIT, attempt_key
from sonde.store.retention import keep_within
from sonde.store.seal import FamilyFolder, seal_folder
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob

GRADIENT = "gradient/first.weight"


def recorded(uri: str = "") -> FakeJob:
    job = FakeJob(uri).record({"cpu.user_percent": range(12)})
    worker = job.worker().add_tensor(GRADIENT, "gradients")
    for step in range(6):
        worker.statistics(GRADIENT, step, [1.0, 2.0]).step(step, {"forward": 0.5}).flush()
    worker.values(2, {GRADIENT: np.arange(4.0, dtype=np.float32)})
    worker.beat()
    return job.beat().close()


def gap(job: FakeJob) -> Notice:
    now_ns = job.clock.now_ns()
    return Notice(NoticeKind.LOST, "system samples", "disk full", now_ns, now_ns + 1)


def end(job: FakeJob, state: JobState) -> None:
    """Write the exit of a job's attempt, and of the job."""
    exit_ = Exit(state, ExitReason.EXIT, job.clock.now_ns(), code=0)
    for key in (attempt_key("node-a", 1, "exit"), EXIT):
        job.backend.write(key, encode_facts(exit_, key))


def damage_of(job: Job) -> list[tuple[str, str]]:
    lost = job.summary["lost"]
    return [(damage["file"], damage["reason"]) for damage in lost if damage.get("file")]


def key_of(job: FakeJob, fragment: str) -> str:
    return next(key for key in job.stored() if fragment in key)


def test_an_intact_job_reports_no_damage() -> None:
    assert damage_of(recorded().job()) == []


@pytest.mark.parametrize(
    "fragment", ["start.json", "tensors.json", "/events/", "/system/", "values/", "beat.json"]
)
def test_a_deleted_file_of_a_finished_job_is_reported_as_missing(fragment: str) -> None:
    job = recorded()
    key = key_of(job, fragment)
    job.backend.delete([key])
    assert (key, "missing") in damage_of(job.job())


@pytest.mark.parametrize("fragment", ["/events/", "/system/", "values/", "tensors.json"])
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_a_truncated_file_of_a_finished_job_is_reported(fragment: str, share: float) -> None:
    job = recorded()
    key = key_of(job, fragment)
    data = job.backend.read(key)
    job.backend.write(key, data[: int(share * len(data))])
    assert (key, "damaged") in damage_of(job.job())


def test_many_missing_files_of_one_folder_are_counted_not_listed() -> None:
    job = recorded()
    worker = job.worker(1)
    for step in range(20):
        worker.values(step, {GRADIENT: np.arange(4.0, dtype=np.float32)})
    job.close()
    job.backend.delete([key for key in job.stored(".safetensors") if key.startswith("workers/1")])
    missing = [damage for damage in job.job().summary["lost"] if damage["reason"] == "missing"]
    assert len(missing) == 6
    assert "15 more files of workers/1/values missing" in missing[-1]["what"]


def test_files_that_were_sealed_merged_or_removed_by_the_budget_are_not_missing() -> None:
    job = recorded()
    job.seal(merge_all=True)
    seal_folder(FamilyFolder(job.backend, "workers/0", EVENTS), is_over=True)
    keep_within(job.backend, 0)
    assert not job.stored(".safetensors")
    assert damage_of(job.job()) == []


def test_damage_names_the_content_and_time_range_of_the_file() -> None:
    job = recorded()
    job.seal()
    key = next(key for key in job.stored("/system/") or job.stored(".parquet") if "system" in key)
    job.backend.delete([key])
    (lost,) = [damage for damage in job.job().summary["lost"] if damage["file"] == key]
    assert "system samples of node node-a" in lost["what"]
    assert lost["from"].startswith("2023-11-14T22:13:20")
    assert lost["to"] > lost["from"]


def test_a_damaged_frame_costs_only_the_time_between_its_neighbors() -> None:
    job = recorded()
    key = key_of(job, "/system/")
    data = job.backend.read(key)
    middle = list(FrameScan(data))[3]  # series, samples, series again, samples, samples
    job.backend.write(key, flipped(data, 8 * (middle.offset + 30)))
    opened = job.job()
    assert len(opened.system("cpu.*").to_arrow()) == 8
    (lost,) = [damage for damage in opened.summary["lost"] if damage.get("file") == key]
    assert "2023-11-14T22:13:21" <= lost["from"] < lost["to"] <= "2023-11-14T22:13:24.1"


@pytest.mark.parametrize("byte", [0, 5, 12, 30])
def test_a_flipped_bit_in_the_first_frame_does_not_cost_the_log(byte: int) -> None:
    job = recorded()
    for fragment in ("/system/", "/events/"):
        key = key_of(job, fragment)
        job.backend.write(key, flipped(job.backend.read(key), 8 * byte))
    opened = job.job()
    assert len(opened.system("cpu.*").to_arrow()) == 12
    assert len(opened.steps().to_arrow()) == 6
    assert len(damage_of(opened)) == 2


def test_damage_to_sealed_notices_is_reported_and_others_are_read() -> None:
    job = recorded()
    job.writer.report_lost(gap(job))
    job.flush()
    job.seal(NOTICES)
    key = next(key for key in job.stored(".parquet") if "notices" in key)
    job.backend.write(key, flipped(job.backend.read(key), 8 * 20))
    assert (key, "damaged") in damage_of(job.job())


def test_a_flipped_bit_in_the_list_of_tensors_is_reported_by_rules() -> None:
    job = recorded()
    key = key_of(job, "tensors.json")
    job.backend.write(key, flipped(job.backend.read(key), 900))
    opened = job.job()
    opened.check("VanishingGradient")
    assert (key, "damaged") in damage_of(opened)


def test_a_damaged_list_of_tensors_is_reported_and_not_shown_as_empty() -> None:
    job = recorded()
    key = key_of(job, "tensors.json")
    job.backend.write(key, flipped(job.backend.read(key), 900))
    opened = job.job()
    assert (key, "damaged") in damage_of(opened)
    assert f"{key} is damaged" in repr(opened.tensors())


@pytest.mark.parametrize("byte", [7, 3, 0, 20, 100, 300])
def test_a_damaged_tensor_file_costs_only_its_values_and_is_reported(byte: int) -> None:
    job = recorded()
    job.worker(1).values(3, {GRADIENT: np.arange(4.0, dtype=np.float32)})
    key = key_of(job, "values/")
    data = job.backend.read(key)
    job.backend.write(key, flipped(data, 8 * min(byte, len(data) - 1) + 6))
    opened = job.job()
    assert opened.tensor(GRADIENT).value(3, worker=1).tolist() == [0, 1, 2, 3]
    with pytest.raises(Exception) as raised:  # noqa: PT011 — which one depends on the byte
        opened.tensor(GRADIENT).value(2, worker=0)
    assert type(raised.value).__module__ == "sonde.errors"
    assert (key, "damaged") in damage_of(opened)


@pytest.mark.parametrize("change", ["delete", "damage"])
@pytest.mark.parametrize("what", ["exit", "start"])
def test_the_exit_of_a_job_does_not_depend_on_one_file(what: str, change: str) -> None:
    job = recorded()
    key = attempt_key("node-a", 1, what)
    if change == "delete":
        job.backend.delete([key])
    else:
        job.backend.write(key, flipped(job.backend.read(key), 500))
    job.clock.advance(3600)
    opened = job.job()
    assert opened.state is JobState.COMPLETED
    assert opened.summary["exit_code"] == 0
    assert damage_of(opened) == [(key, "missing" if change == "delete" else "damaged")]


def test_a_deleted_exit_of_a_job_is_reported_and_its_state_is_kept() -> None:
    job = recorded()
    end(job, JobState.COMPLETED)
    job.close()
    assert damage_of(job.job()) == []

    job.backend.delete([EXIT])

    assert job.job().state is JobState.COMPLETED
    assert damage_of(job.job()) == [(EXIT, "missing")]


def test_a_job_that_never_had_an_exit_of_its_own_is_not_damaged() -> None:
    job = recorded()  # like an imported job
    assert not job.backend.exists(EXIT)
    assert damage_of(job.job()) == []


def test_a_job_with_an_unreadable_exit_is_ended_not_lost() -> None:
    job = FakeJob().end()
    key = attempt_key("node-a", 1, "exit")
    job.backend.write(key, flipped(job.backend.read(key), 500))
    job.clock.advance(3600)
    assert job.job().state is JobState.ENDED


def test_a_job_without_its_first_document_is_still_a_job(tmp_path: Path) -> None:
    job = recorded(str(tmp_path / "job"))
    job.backend.delete(["job.json"])
    opened = Job(open_backend(str(tmp_path / "job")), job.clock)
    assert opened.state is JobState.COMPLETED
    assert ("job.json", "missing") in damage_of(opened)


@pytest.mark.parametrize("state", [JobState.COMPLETED, JobState.FAILED])
def test_a_deleted_node_is_reported_and_the_state_of_the_job_is_kept(state: JobState) -> None:
    job = recorded()
    end(job, state)
    job.backend.delete([entry.key for entry in job.backend.entries("nodes")])

    document = job.job().summary

    assert (document["state"], document["exit_code"]) == (state.value, 0)
    assert document["nodes"] == ["node-a"]
    assert ("nodes/node-a", "missing") in damage_of(job.job())


def test_a_deleted_node_of_several_is_reported_and_its_failure_counts() -> None:
    job = recorded()
    FakeJob(job.backend.uri, "node-b", job.clock).end()
    end(job, JobState.FAILED)
    job.backend.delete([entry.key for entry in job.backend.entries("nodes/node-a")])

    assert job.job().summary["state"] == "failed"
    assert ("nodes/node-a", "missing") in damage_of(job.job())


def test_a_worker_node_without_launcher_files_is_reported() -> None:
    job = recorded()
    second_job = FakeJob(job.backend.uri, "node-b", job.clock)
    second_job.worker(1, node="node-b").beat()
    second_job.end()
    end(job, JobState.COMPLETED)
    job.backend.delete([entry.key for entry in job.backend.entries("nodes/node-b")])

    assert job.job().summary["state"] == "completed"
    assert ("nodes/node-b", "missing") in damage_of(job.job())


def test_a_deleted_last_attempt_is_reported_and_the_state_of_the_job_is_kept() -> None:
    job = recorded()
    job.clock.advance(60)
    exit_ = Exit(JobState.FAILED, ExitReason.EXIT, job.clock.now_ns(), code=3)
    job.backend.write(EXIT, encode_facts(exit_, EXIT))

    assert job.job().summary["state"] == "failed"
    assert ("nodes/node-a/attempt-002", "missing") in damage_of(job.job())


def test_copies_of_other_files_are_detected() -> None:
    job = recorded()
    job.worker(1).step(0, {"forward": 0.5}).flush().beat()
    job.close()
    first, second = (
        next(key for key in job.stored("beat.json") if f"workers/{rank}/" in key) for rank in (0, 1)
    )
    job.backend.write(second, job.backend.read(first))
    assert (second, "damaged") in damage_of(job.job())


@pytest.mark.parametrize("cut", [lambda size: size // 2, lambda size: 0])
def test_truncating_an_open_sealed_file_is_damage_not_a_crash(
    tmp_path: Path, cut: Callable[[int], int]
) -> None:
    job = recorded(str(tmp_path / "job"))
    job.seal()
    opened = Job(open_backend(str(tmp_path / "job")), job.clock)
    assert len(opened.system("cpu.*").to_arrow()) == 12
    key = next(key for key in job.stored(".parquet") if "rollup" not in key)
    path = tmp_path / "job" / key
    os.truncate(path, cut(path.stat().st_size))
    assert len(opened.system("cpu.*").to_arrow()) in (0, 12)
    assert (key, "damaged") in damage_of(opened.refresh())


def test_reading_a_value_of_a_truncated_file_is_a_one_line_error(tmp_path: Path) -> None:
    job = recorded(str(tmp_path / "job"))
    opened = Job(open_backend(str(tmp_path / "job")), job.clock)
    tensor = opened.tensor(GRADIENT)
    assert tensor.steps()
    os.truncate(tmp_path / "job" / key_of(job, "values/"), 200)
    with pytest.raises(DamagedError, match="is damaged"):
        tensor.value(2)
