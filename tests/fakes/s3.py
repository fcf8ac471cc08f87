"""An S3 server on the loopback interface, and the variables to use it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer


@contextmanager
def s3_server(bucket: str) -> Iterator[int]:
    """Run a server with one bucket and yield its port."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket(bucket, "us-east-1")
    yield server.get_host_and_port()[1]
    server.stop()


def use_s3_server(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variables that direct S3 clients to this port."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
