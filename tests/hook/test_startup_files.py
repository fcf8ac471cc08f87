"""The startup module: what it awaits, and the files it writes before Sonde is loaded."""

from pathlib import Path

import pytest

from sonde.agent.loss_listener import LossListener
from sonde.hook import injected, startup_report
from sonde.hook.inject import sitecustomize
from sonde.records.notice import INSIDE, NoticeKind
from tests.startup_module import files, modules_of_adapters

NAMES = sorted(modules_of_adapters())
ATTEMPT = "nodes/a/attempt-001"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job's folder, which does not exist yet."""
    job = tmp_path / "job"
    monkeypatch.setenv("SONDE_JOB_URI", str(job))
    monkeypatch.setenv("SONDE_WORKER_URI", "")
    monkeypatch.setenv("SONDE_NODE", "a")
    monkeypatch.setenv("SONDE_ATTEMPT", "1")
    monkeypatch.setattr(injected, "startup_report", lambda: startup_report)
    return job


def test_a_failure_that_cannot_be_written_is_sent_to_the_launcher(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.write_bytes(b"not a folder")
    monkeypatch.setenv("SONDE_RUN_ID", "test-unreadable")
    listener = LossListener("test-unreadable")
    startup_report.record_failure('PermissionError: "sonde/hook/injected.py"')
    (received,) = listener.close()
    notice = received.notice
    assert (notice.kind, notice.what) == (NoticeKind.HOOK_NOT_LOADED, INSIDE)
    assert notice.reason == 'PermissionError: "sonde/hook/injected.py"'
    assert not received.is_recorded


def write_files() -> None:
    injected.note_framework("torch", "2.9.0+cu128")
    startup_report.record_failure("SyntaxError: invalid syntax")


def test_the_startup_module_awaits_what_the_adapters_declare() -> None:
    stale = [path.name for path, text in files().items() if path.read_text() != text]
    assert not stale, f"{', '.join(stale)}: out of date; run `make startup`"


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_awaits_modules_of_its_framework(name: str) -> None:
    awaited = modules_of_adapters()[name]
    assert awaited
    assert all(module == name or module.startswith(f"{name}.") for module in awaited)


def test_frameworks_without_an_adapter_are_awaited_and_reported() -> None:
    of_adapters = {module for modules in modules_of_adapters().values() for module in modules}
    others = sitecustomize._awaited.keys() - of_adapters - {injected._PROCESSES}
    assert others == injected._UNSUPPORTED


def test_frameworks_and_failures_are_written(job: Path) -> None:
    write_files()
    write_files()
    failure, framework = sorted((job / ATTEMPT / "frameworks").iterdir(), reverse=True)
    assert framework.name == "torch-2.9.0"
    assert framework.read_bytes() == b""
    assert failure.name.startswith("unrecorded-")
    assert failure.read_bytes() == b"SyntaxError: invalid syntax"


@pytest.mark.parametrize("key", ["nodes", "nodes/a", ATTEMPT, f"{ATTEMPT}/frameworks"])
def test_linked_folders_in_a_job_are_not_followed(job: Path, tmp_path: Path, key: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (job / key).parent.mkdir(parents=True)
    (job / key).symlink_to(outside)
    write_files()
    assert list(outside.iterdir()) == []


def test_linked_files_in_a_job_are_not_followed(job: Path, tmp_path: Path) -> None:
    write_files()
    outside = tmp_path / "outside"
    outside.write_text("user data")
    for path in (job / ATTEMPT / "frameworks").iterdir():
        path.unlink()
        path.symlink_to(outside)
    write_files()
    assert outside.read_text() == "user data"


def test_linked_store_is_followed(job: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    job.symlink_to(tmp_path / "disk")
    write_files()
    assert len(list((tmp_path / "disk" / ATTEMPT / "frameworks").iterdir())) == 2
