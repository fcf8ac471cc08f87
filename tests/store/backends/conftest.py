"""Backends of a store: a local folder, memory, and a real S3 server on the loopback interface."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.store.backends import Backend, open_backend
from tests.fakes.s3 import s3_server, use_s3_server

BUCKET = "sonde-tests"


@pytest.fixture(scope="session")
def s3_port() -> Iterator[int]:
    with s3_server(BUCKET) as port:
        yield port


@pytest.fixture
def s3_environment(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_s3_server(s3_port, monkeypatch)


@pytest.fixture
def s3_uri(s3_environment: None) -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/some where"


@pytest.fixture(params=["local", "memory", "s3"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    if request.param == "s3":
        return open_backend(request.getfixturevalue("s3_uri"))
    if request.param == "memory":
        return open_backend(f"memory://{uuid.uuid4().hex}")
    return open_backend(str(tmp_path / "store"))
