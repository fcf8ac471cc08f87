"""Names, paths and URIs of jobs and stores."""

from pathlib import Path

import pytest

from sonde.errors import JobNotFoundError, StoreError
from sonde.store.places import absolute_store, check_store, find_job
from tests.fakes.job import FakeJob


@pytest.fixture
def store(tmp_path: Path) -> str:
    for name in ("resnet", "gpt"):
        FakeJob(str(tmp_path / name))
    return str(tmp_path)


def test_a_job_is_found_by_name_path_and_uri(store: str) -> None:
    result = [
        find_job("gpt", store),
        find_job(f"{store}/gpt", "/nowhere"),
        find_job(f"file://{store}/gpt", "/nowhere"),
    ]

    assert [item.read("job.json") for item in result] == [result[0].read("job.json")] * 3


def test_a_job_is_found_by_a_folder_in_the_working_directory(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store)

    assert find_job("gpt", "/nowhere").exists("job.json")
    assert find_job("./gpt", "/nowhere").exists("job.json")


def test_an_unknown_job_lists_the_available_jobs(store: str) -> None:
    (Path(store) / "not a job").mkdir()
    (Path(store) / ".hidden").mkdir()

    with pytest.raises(JobNotFoundError) as caught:
        find_job("bert", store)

    assert str(caught.value) == f"No job 'bert' in {store}. Available: gpt, resnet"


def test_a_typo_in_a_job_name_suggests_the_right_name(tmp_path: Path) -> None:
    for number in range(12):
        FakeJob(str(tmp_path / f"job-{number:02d}"))
    FakeJob(str(tmp_path / "healthy"))

    with pytest.raises(JobNotFoundError, match=r"Did you mean 'healthy'\? Available: job-04, "):
        find_job("helthy", str(tmp_path))


def test_only_the_last_of_many_jobs_are_listed(tmp_path: Path) -> None:
    for number in range(12):
        FakeJob(str(tmp_path / f"job-{number:02d}"))

    with pytest.raises(JobNotFoundError, match=r"Available: job-04, .*, job-11 \(and 4 more\)$"):
        find_job("bert", str(tmp_path))


def test_an_empty_store_is_reported(tmp_path: Path) -> None:
    with pytest.raises(JobNotFoundError, match="has no jobs yet"):
        find_job("bert", str(tmp_path))


def test_a_store_uri_does_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert absolute_store("sonde-jobs") == str(tmp_path / "sonde-jobs")
    assert absolute_store("s3://bucket/team") == "s3://bucket/team"


def test_a_store_is_not_accepted_as_a_job(store: str) -> None:
    with pytest.raises(JobNotFoundError, match=r"is a store, not a job. Its jobs: gpt, resnet"):
        find_job(f"{store}/", "/nowhere")


def test_a_file_or_a_job_is_not_accepted_as_a_store(store: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StoreError, match=r"file is not a folder"):
        check_store(str(file))
    with pytest.raises(StoreError, match=rf"gpt is a job, not a store. Its store is {store}$"):
        check_store(f"{store}/gpt")
    check_store(store)
    check_store(str(tmp_path / "none yet"))
