"""Recordings in object stores are imported like local ones."""

from pathlib import Path

import pytest

from sonde.errors import DamagedError, UsageError
from sonde.importers import IMPORTERS, local_recording
from sonde.store.backends import open_backend
from tests.fakes.recordings import imported
from tests.fakes.s3 import s3_server, use_s3_server
from tests.fakes.smdebug import unpack_golden
from tests.importers.test_smdebug import losses_of


def is_json(key: str) -> bool:
    return key.endswith(".json")


def upload(folder: Path, uri: str) -> None:
    backend = open_backend(uri)
    for file in folder.rglob("*"):
        if file.is_file():
            backend.write(file.relative_to(folder).as_posix(), file.read_bytes())


def test_a_recording_in_s3_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = unpack_golden(tmp_path)
    with s3_server("recordings") as port:
        use_s3_server(port, monkeypatch)
        (recording / "model.tar.gz").write_bytes(b"large")
        upload(recording, "s3://recordings/job")
        needs = IMPORTERS.load("smdebug")().needs
        with local_recording("s3://recordings/job/", needs) as location:
            assert not (location.path / "model.tar.gz").exists()
            assert len(list(location.path.rglob("index/*/*.json"))) == 5
            result = imported("smdebug", location.path, tmp_path / "store")
    assert len(losses_of(result)) == 5
    assert len(result.job.steps()) == 6
    assert result.job.python("cprofile").windows
    assert not location.path.exists()


def test_a_single_object_is_downloaded_with_its_modification_time(tmp_path: Path) -> None:
    backend = open_backend(f"memory://{tmp_path.name}/traces")
    backend.write("trace.json", b"[]")
    backend.write("trace.json.tmp", b"[")
    [entry] = [entry for entry in backend.entries("") if entry.key == "trace.json"]
    with local_recording(f"memory://{tmp_path.name}/traces/trace.json", is_json) as location:
        assert location.path.read_bytes() == b"[]"
        assert location.path.stat().st_mtime_ns == entry.modified_ns
    with local_recording(f"memory://{tmp_path.name}/traces", is_json) as location:
        assert [path.name for path in location.path.iterdir()] == ["trace.json"]


def test_messages_name_the_uri_instead_of_the_temporary_folder(tmp_path: Path) -> None:
    uri = f"memory://{tmp_path.name}/run"
    open_backend(uri).write("a.json", b"x")

    def fail() -> None:
        with local_recording(uri, is_json) as location:
            raise DamagedError(f"{location.path}/a.json is truncated")

    with pytest.raises(DamagedError, match=rf"^{uri}/a\.json is truncated$"):
        fail()


def test_a_missing_object_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="nothing does not exist"),
        local_recording(f"memory://{tmp_path.name}/nothing", is_json),
    ):
        pass


def test_a_prefix_with_other_objects_only_is_refused(tmp_path: Path) -> None:
    open_backend(f"memory://{tmp_path.name}/other").write("model.bin", b"x")
    with (
        pytest.raises(UsageError, match="no recording of this kind in 1 object"),
        local_recording(f"memory://{tmp_path.name}/other", is_json),
    ):
        pass
