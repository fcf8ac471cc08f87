"""Query endpoints of a job without a server."""

import json
from typing import Any

from sonde.web.answers import ENDPOINTS
from sonde.web.library import Library
from sonde.web.query_params import Query
from sonde.web.replies import Reply
from tests.fakes.job import FakeJob
from tests.web.decoding import column_of, decode_frame


class ApiClient:
    """A job and the replies of its endpoints."""

    def __init__(self, job: FakeJob) -> None:
        store, _, self._name = job.backend.uri.rstrip("/").rpartition("/")
        self._library = Library(store, job.clock)
        groups = [ENDPOINTS.load(name)() for name in ENDPOINTS.names()]
        self._endpoints = {
            endpoint.path: endpoint for group in groups for endpoint in group.endpoints()
        }

    def reply(self, path: str, **options: object) -> Reply:
        """Return the raw reply of a path below the job."""
        parameters = {name: str(value) for name, value in options.items()}
        query = Query(self._library, {"job": self._name}, parameters)
        return self._endpoints[f"/jobs/{{job}}/{path}"].handler(query)

    def document(self, path: str, **options: object) -> Any:
        """Return a JSON reply."""
        return json.loads(self.reply(path, **options).body)

    def frame(self, path: str, **options: object) -> Any:
        """Return a binary reply as its header, with columns filled in."""
        header, data = decode_frame(self.reply(path, **options).body)
        return _filled(header, data)


def _filled(value: Any, data: memoryview) -> Any:
    if isinstance(value, dict):
        if {"offset", "length", "type"} <= value.keys():
            return column_of(value, data).tolist()
        return {name: _filled(item, data) for name, item in value.items()}
    return [_filled(item, data) for item in value] if isinstance(value, list) else value
