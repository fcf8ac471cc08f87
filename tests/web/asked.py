"""Asks the server's answers without a server: a job in memory, an address, words."""

import json
from typing import Any

from sonde.web.answers import ANSWERS
from sonde.web.library import Library
from sonde.web.query_params import Question
from sonde.web.replies import Reply
from tests.fakes.job import FakeJob
from tests.web.decoding import column_of, decode_frame


class Asked:
    """One job, and what is answered about it."""

    def __init__(self, job: FakeJob) -> None:
        store, _, self._name = job.backend.uri.rstrip("/").rpartition("/")
        self._library = Library(store, job.clock)
        answers = [ANSWERS.load(name)() for name in ANSWERS.names()]
        self._addresses = {one.path: one for answer in answers for one in answer.addresses()}

    def reply(self, path: str, **words: object) -> Reply:
        """The answer of an address below the job's."""
        query = {name: str(one) for name, one in words.items()}
        question = Question(self._library, {"job": self._name}, query)
        return self._addresses[f"/jobs/{{job}}/{path}"].answer(question)

    def document(self, path: str, **words: object) -> Any:
        """An answer of plain values."""
        return json.loads(self.reply(path, **words).body)

    def frame(self, path: str, **words: object) -> Any:
        """An answer of columns, which stand where the header has their places."""
        header, data = decode_frame(self.reply(path, **words).body)
        return _filled(header, data)


def _filled(value: Any, data: memoryview) -> Any:
    if isinstance(value, dict):
        if {"offset", "length", "type"} <= value.keys():
            return column_of(value, data).tolist()
        return {name: _filled(one, data) for name, one in value.items()}
    return [_filled(one, data) for one in value] if isinstance(value, list) else value
