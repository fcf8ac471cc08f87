"""An imported job becomes visible when it is complete, or not at all."""

from pathlib import Path

import pytest

from sonde.clock import NANOSECONDS
from sonde.errors import JobExistsError
from sonde.importers import Intake, JobDraft
from sonde.importers._rows import WorkerDescription
from sonde.read.jobs import list_job_names
from sonde.store.format import EVENTS
from tests.fakes.clock import START_NS, FakeClock
from tests.fakes.job import FakeJob

ROW = ("step", "step", "main", START_NS, NANOSECONDS, 0, "train", "")


def fill(draft: JobDraft) -> None:
    Intake(draft, lambda _size: None).worker(WorkerDescription(0, "box")).add_rows(EVENTS, [ROW])


def test_a_draft_is_invisible_until_it_is_complete(tmp_path: Path) -> None:
    with JobDraft(str(tmp_path), "trace", FakeClock()) as draft:
        fill(draft)
        assert list_job_names(str(tmp_path)) == []
        draft.publish(("x",), "/")
        assert list_job_names(str(tmp_path)) == ["trace"]
    assert [name.name for name in tmp_path.iterdir()] == ["trace"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_failed_import_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def give_up() -> None:
        with JobDraft(str(tmp_path), "trace", FakeClock()) as draft:
            fill(draft)
            raise error

    with pytest.raises(error):
        give_up()
    assert not list(tmp_path.iterdir())


def test_a_name_in_use_is_refused_before_reading(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "trace")).end()
    with pytest.raises(JobExistsError, match="--name"):
        JobDraft(str(tmp_path), "trace", FakeClock())


def test_a_name_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "trace").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JobExistsError, match="is a symbolic link"):
        JobDraft(str(tmp_path), "trace", FakeClock())


def test_a_job_created_with_the_same_name_during_the_import_is_kept(tmp_path: Path) -> None:
    with JobDraft(str(tmp_path), "trace", FakeClock()) as draft:
        fill(draft)
        second_draft = FakeJob(str(tmp_path / "trace")).end()
        before = second_draft.stored()
        with pytest.raises(JobExistsError):
            draft.publish(("x",), "/")
    assert second_draft.stored() == before


def test_drafts_of_killed_imports_are_removed_after_a_day(tmp_path: Path) -> None:
    remaining = tmp_path / ".import-old-12345678" / "workers"
    remaining.mkdir(parents=True)
    (remaining / "x").touch()
    modified_ns = (remaining / "x").stat().st_mtime_ns
    with JobDraft(str(tmp_path), "a", FakeClock(modified_ns + 3600 * NANOSECONDS)):
        assert remaining.exists()
    with JobDraft(str(tmp_path), "a", FakeClock(modified_ns + 25 * 3600 * NANOSECONDS)):
        assert not remaining.parent.exists()


def test_imported_data_is_stored_as_parquet(tmp_path: Path) -> None:
    with JobDraft(str(tmp_path), "trace", FakeClock()) as draft:
        fill(draft)
        draft.publish(("x",), "/")
    files = {name.suffix for name in (tmp_path / "trace" / "workers").rglob("*") if name.is_file()}
    assert files == {".parquet", ".json"}
