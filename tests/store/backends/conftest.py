"""Places to keep a store in: a folder, this process, and a real S3 server on the loopback."""

import logging
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

from sonde.store.backends import Backend, open_backend

BUCKET = "sonde-tests"


@pytest.fixture(scope="session")
def s3_port() -> Iterator[int]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket(BUCKET, "us-east-1")
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def s3_environment(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3_port}")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


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
