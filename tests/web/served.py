"""Test clients of the web application, without a process or a port."""

from typing import Any

from starlette.testclient import TestClient

from sonde.clock import Clock
from sonde.web.app import create_app
from sonde.web.hosts import is_loopback
from sonde.web.library import Library
from sonde.web.security import AccessPolicy
from tests.fakes.job import FakeJob
from tests.web.decoding import column_of, decode_frame

PORT = 8765
OURS = {"X-Sonde": "1"}


def served(
    store: str, clock: Clock, token: str | None = None, host: str = "localhost"
) -> TestClient:
    """Return a client of a server for a store."""
    library = Library(store, clock)
    app = create_app(library, AccessPolicy(PORT, token, is_local=is_loopback(host)))
    return TestClient(app, base_url=f"http://{host}:{PORT}", follow_redirects=False)


def served_job(job: FakeJob) -> TestClient:
    """Return a client of a server for the store of a job, with paths relative to the job."""
    store, _, name = job.backend.uri.rstrip("/").rpartition("/")
    client = served(store, job.clock)
    client.base_url = client.base_url.join(f"/api/jobs/{name}/")
    return client


def columns(client: TestClient, path: str) -> tuple[dict[str, Any], memoryview]:
    """Return the header of a frame and the bytes of its columns."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return decode_frame(answer.content)


def column(index: dict[str, Any], data: memoryview) -> list[float]:
    """Return a column as numbers."""
    result: list[float] = column_of(index, data).tolist()
    return result
