"""Removing a job removes the files that Sonde wrote and nothing else."""

from pathlib import Path

import pytest

from sonde.store.backends import open_backend
from sonde.store.owned import describe, is_ours
from sonde.store.removal import remove_job, remove_remains
from tests.fakes.job import FakeJob


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_removing_a_job_keeps_and_lists_files_that_sonde_did_not_write(
    tmp_path: Path,
) -> None:
    job = FakeJob(str(tmp_path / "src")).record({"cpu.user_percent": [1, 2]}).end()
    (tmp_path / "src" / "train.py").write_text("years of work")
    (tmp_path / "src" / "workers" / "mine").mkdir(parents=True)
    (tmp_path / "src" / "workers" / "mine" / "notes.txt").write_text("notes")
    (tmp_path / "src" / ".git").mkdir()
    (tmp_path / "src" / ".git" / "HEAD").write_text("ref")

    removed = remove_job(job.backend)

    remaining = [".git/HEAD", "train.py", "workers/mine/notes.txt"]
    assert files(tmp_path / "src") == remaining
    assert list(removed.remaining) == remaining
    assert removed.bytes > 0


def test_removing_a_linked_job_removes_only_the_link(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "real" / "job")).record({"cpu.user_percent": [1, 2]}).end()
    (tmp_path / "store").mkdir()
    link = tmp_path / "store" / "job"
    link.symlink_to(tmp_path / "real" / "job")
    before = files(tmp_path / "real")

    remove_job(open_backend(str(link)))

    assert not link.is_symlink()
    assert files(tmp_path / "real") == before


def test_removing_a_job_does_not_follow_links_inside_it(tmp_path: Path) -> None:
    (tmp_path / "thesis" / "0" / "values").mkdir(parents=True)
    precious = tmp_path / "thesis" / "0" / "values" / "train-0000000001-ab.safetensors"
    precious.write_text("years of work")
    job = FakeJob(str(tmp_path / "job")).record({"cpu.user_percent": [1, 2]}).end()
    (tmp_path / "job" / "workers").symlink_to(tmp_path / "thesis")

    removed = remove_job(job.backend)

    assert precious.exists()
    assert removed.remaining == ("workers",)


@pytest.mark.parametrize(
    "key",
    [
        "job.json",
        "nodes/a.b-c/attempt-001/reserve",
        "nodes/a/attempt-012/failure-17.json",
        "nodes/a/attempt-012/handed-on-17.json",
        "nodes/a/attempt-001/claim.json",
        "nodes/a/attempt-001/sent.json",
        "workers/0/attempt-001.0/tensors.json",
        "rules/progress.json",
        "rules/verdict.json",
        "nodes/a/attempt-001/frameworks/torch-2.13.0+cpu",
        "nodes/a/system/01794856940754637297-1290a71e.frames",
        "workers/3/events/01794856940754637297-1290a71e-36.rollup.parquet",
        "workers/0/values/train-0000000010-e7813e60.safetensors",
        "workers/0/profiles/python-0000000010-e7813e60_1.json.gz",
        "workers/0/profiles/memory-0000000010-e7813e60.snapshot.pickle",
        "findings/findings/01794856940754637297-1290a71e.parquet",
        "control/replies/01794856940754637297-1290a71e.worker-0.json",
        "report/rules/LossSpike.json",
        "rules/lease.json",
    ],
)
def test_files_of_the_layout_are_recognized_and_described(key: str) -> None:
    assert is_ours(key)
    assert describe(key)


@pytest.mark.parametrize(
    "key",
    [
        "train.py",
        "nodes/a/system/notes.txt",
        "nodes/a/attempt-001/notes.json",
        "workers/0/attempt-001.0/results.json",
        "workers/0/values/a.txt",
        "rules/mine.json",
        "report/thesis.html",
    ],
)
def test_other_files_are_not_recognized(key: str) -> None:
    assert not is_ours(key)


def test_files_of_rules_are_kept_if_the_job_document_is_missing() -> None:
    job = FakeJob().end()
    job.backend.write("rules/verdict.json", b"{}")
    job.backend.delete(["job.json"])
    assert not remove_remains(job.backend)
    assert job.backend.exists("rules/verdict.json")
