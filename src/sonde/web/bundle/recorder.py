"""Record the replies of the API for a job until a size is reached."""

import json
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sonde.errors import SondeError
from sonde.formats import format_count
from sonde.web.answers import ENDPOINTS
from sonde.web.bundle.redaction import Redaction
from sonde.web.bundle.requests import (
    MAX_DISTRIBUTIONS,
    ApiRequest,
    JobOutline,
    Topic,
    requests_of,
    saved_steps_request,
)
from sonde.web.frames import MEDIA_TYPE, split_frame
from sonde.web.library import Library
from sonde.web.query_params import Query
from sonde.web.replies import Reply

_LEVEL = 9
_SINCE_START: Final = ("timeline", "timeline/totals")  # others take Unix seconds


@dataclass
class Recording:
    """The replies for a job, and how many requests of each topic have none."""

    job: str
    as_of: float  # in Unix seconds, as is the start of the job
    start: float
    seconds: float
    entries: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    requested: Counter[Topic] = field(default_factory=Counter)
    omitted: Counter[Topic] = field(default_factory=Counter)

    def add(self, topic: Topic, entry: dict[str, Any], max_bytes: int) -> None:
        """Add a reply if it fits."""
        self.requested[topic] += 1
        size = len(json.dumps(entry).encode())
        if self.size + size > max_bytes:
            self.omitted[topic] += 1
            return
        self.size += size
        self.entries.append(entry)

    @property
    def notes(self) -> list[str]:
        """What was left out to limit the size."""
        return [
            f"{format_count(count)} of {format_count(self.requested[topic])} "
            f"replies about {topic.value}"
            for topic, count in self.omitted.items()
        ]


class Recorder:
    """Sends requests to the endpoints of the dashboard's API, without a server."""

    def __init__(self, library: Library, job: str, redaction: Redaction) -> None:
        groups = [ENDPOINTS.load(name)() for name in ENDPOINTS.names()]
        self._handlers = {
            endpoint.path: endpoint.handler
            for group in groups
            for endpoint in group.endpoints()
            if endpoint.method == "GET"
        }
        self._library = library
        self._job = job
        self._redaction = redaction
        self._summary = self._handle(ApiRequest(Topic.SUMMARY, ""))
        self._document = json.loads(self._summary.body)
        self.requests = requests_of(self._outline(self._document))

    def record(self, max_bytes: int, advance: Callable[[int], None]) -> Recording:
        """Record all replies that fit, the most important first."""
        t0, t1, now = (self._document[name] for name in ("t0", "t1", "now"))
        recording = Recording(self._job, now, t0, t1 - t0)
        for request in self.requests:
            reply = self._reply(request)
            if reply is not None:
                recording.add(request.topic, self._entry(request, reply), max_bytes)
            advance(1)
        return recording

    def _outline(self, document: Mapping[str, Any]) -> JobOutline:
        nodes = [node["name"] for node in document["nodes"]]
        metrics = {
            node: self._json(ApiRequest(Topic.NODES, "metrics", {"node": node})) for node in nodes
        }
        tensors = self._tensors(document)
        timeline = self._reply(ApiRequest(Topic.TIMELINE, "timeline", pixels=2))
        profiled = split_frame(timeline.body)[0]["windows"] if timeline else []
        return JobOutline(document, metrics, tensors, self._saved_steps(tensors), profiled)

    def _tensors(self, document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """All tensors, those with findings first."""
        tensors = self._json(ApiRequest(Topic.TENSORS, "tensors"))["tensors"]
        named = {finding["tensor"] for finding in document["findings"]["findings"]}
        return sorted(tensors, key=lambda tensor: tensor["name"] not in named)

    def _saved_steps(self, tensors: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        steps = {}
        for tensor in tensors[:MAX_DISTRIBUTIONS]:
            saved = self._reply(saved_steps_request(tensor))
            if saved is not None and (numbers := json.loads(saved.body)["steps"]):
                steps[tensor["name"]] = numbers[-1]
        return steps

    def _json(self, request: ApiRequest) -> Any:
        return json.loads(self._handle(request).body)

    def _reply(self, request: ApiRequest) -> Reply | None:
        """The reply; None if the job has no such data."""
        if not request.path:
            return self._summary  # of the instant that the page states
        try:
            return self._handle(request)
        except SondeError:
            return None

    def _handle(self, request: ApiRequest) -> Reply:
        path = {"job": self._job}
        template = f"/jobs/{{job}}/{request.path}".rstrip("/")
        if request.path.startswith("charts/"):
            path["chart"] = request.path.removeprefix("charts/")
            template = "/jobs/{job}/charts/{chart}"
        given = {**request.parameters, **request.bounds}
        parameters = {name: value for name, value in given.items() if value}
        if request.window is not None:
            parameters |= _window_parameters(request, self._document["t0"])
        if request.pixels is not None:
            parameters["px"] = str(request.pixels)
        return self._handlers[template](Query(self._library, path, parameters))

    def _entry(self, request: ApiRequest, reply: Reply) -> dict[str, Any]:
        """A reply and what it replies to, in the form of the page: compressed, as base64."""
        body = self._redaction.reply(_without_controls(request, reply))
        text = self._redaction.text
        return {
            "path": request.path,
            "query": {name: text(value) for name, value in request.parameters.items()},
            "bounds": {name: text(value) for name, value in request.bounds.items()},
            "window": request.window,
            "is_exact": request.is_exact,
            "data": b64encode(zlib.compress(body, _LEVEL)).decode(),
        }


def _window_parameters(request: ApiRequest, start: float) -> Mapping[str, str]:
    assert request.window is not None
    first, last = request.window
    if request.path in _SINCE_START:
        return {"start": repr(first), "end": repr(last)}
    return {"t0": repr(start + first), "t1": repr(start + last)}


def _without_controls(request: ApiRequest, reply: Reply) -> Reply:
    """The reply; the document of a job offers no controls, as there is no server."""
    if request.path or reply.media_type == MEDIA_TYPE:
        return reply
    document = json.loads(reply.body)
    document["controls"] = dict.fromkeys(document["controls"], False)
    return Reply(json.dumps(document, ensure_ascii=False).encode(), reply.media_type)
