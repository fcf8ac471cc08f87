"""Recordings in object stores are imported like local ones."""

from pathlib import Path

import pytest

from sonde.errors import DamagedError, UsageError
from sonde.importers import local_recording
from sonde.store.backends import open_backend
from tests.fakes.recordings import imported
from tests.fakes.s3 import s3_server, use_s3_server
from tests.fakes.smdebug import unpack_golden
from tests.importers.test_smdebug import losses_of


def upload(folder: Path, uri: str) -> None:
    backend = open_backend(uri)
    for file in folder.rglob("*"):
        if file.is_file():
            backend.write(file.relative_to(folder).as_posix(), file.read_bytes())


def test_a_recording_in_s3_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = unpack_golden(tmp_path)
    with s3_server("recordings") as port:
        use_s3_server(port, monkeypatch)
        upload(recording / "debug-output", "s3://recordings/job/debug-output")
        with local_recording("s3://recordings/job/debug-output/") as location:
            result = imported("smdebug", location.path, tmp_path / "store")
    assert len(losses_of(result)) == 5
    assert not location.path.exists()


def test_a_single_object_is_downloaded_with_its_modification_time(tmp_path: Path) -> None:
    backend = open_backend(f"memory://{tmp_path.name}/traces")
    backend.write("trace.json", b"[]")
    backend.write("trace.json.tmp", b"[")
    [entry] = [entry for entry in backend.entries("") if entry.key == "trace.json"]
    with local_recording(f"memory://{tmp_path.name}/traces/trace.json") as location:
        assert location.path.read_bytes() == b"[]"
        assert location.path.stat().st_mtime_ns == entry.modified_ns
    with local_recording(f"memory://{tmp_path.name}/traces") as location:
        assert [path.name for path in location.path.iterdir()] == ["trace.json"]


def test_messages_name_the_uri_instead_of_the_temporary_folder(tmp_path: Path) -> None:
    uri = f"memory://{tmp_path.name}/run"
    open_backend(uri).write("a.json", b"x")

    def fail() -> None:
        with local_recording(uri) as location:
            raise DamagedError(f"{location.path}/a.json is truncated")

    with pytest.raises(DamagedError, match=rf"^{uri}/a\.json is truncated$"):
        fail()


def test_a_missing_object_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="nothing does not exist"),
        local_recording(f"memory://{tmp_path.name}/nothing"),
    ):
        pass
