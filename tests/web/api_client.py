"""Asks the server's answers without a server: a job in memory, an address, words."""

import json
from typing import Any

from sonde.web.answers import ENDPOINTS
from sonde.web.library import Library
from sonde.web.query_params import Query
from sonde.web.replies import Reply
from tests.fakes.job import FakeJob
from tests.web.decoding import column_of, decode_frame


class ApiClient:
    """One job, and what is answered about it."""

    def __init__(self, job: FakeJob) -> None:
        store, _, self._name = job.backend.uri.rstrip("/").rpartition("/")
        self._library = Library(store, job.clock)
        groups = [ENDPOINTS.load(name)() for name in ENDPOINTS.names()]
        self._endpoints = {
            endpoint.path: endpoint for group in groups for endpoint in group.endpoints()
        }

    def reply(self, path: str, **options: object) -> Reply:
        """The answer of an address below the job's."""
        parameters = {name: str(value) for name, value in options.items()}
        query = Query(self._library, {"job": self._name}, parameters)
        return self._endpoints[f"/jobs/{{job}}/{path}"].handler(query)

    def document(self, path: str, **options: object) -> Any:
        """An answer of plain values."""
        return json.loads(self.reply(path, **options).body)

    def frame(self, path: str, **options: object) -> Any:
        """An answer of columns, which stand where the header has their places."""
        header, data = decode_frame(self.reply(path, **options).body)
        return _filled(header, data)


def _filled(value: Any, data: memoryview) -> Any:
    if isinstance(value, dict):
        if {"offset", "length", "type"} <= value.keys():
            return column_of(value, data).tolist()
        return {name: _filled(item, data) for name, item in value.items()}
    return [_filled(item, data) for item in value] if isinstance(value, list) else value
