"""The lines that the workers of a job wrote to stdout and stderr."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.read.logs import LogQuestion, parse_pattern, read_logs
from sonde.records.log_line import LogLine
from sonde.records.ranges import EVER
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply

_MAX_LINES = 5000
_MAX_WORKERS = 64
_STREAMS = ("", "stdout", "stderr")


class Logs(EndpointGroup):
    """`logs`: the last lines of a time range that match a pattern."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/logs", _logs),)


def _logs(query: Query) -> Reply:
    ranks = [int(rank) for rank in query.job.facts.workers[:_MAX_WORKERS]]
    if query.text("worker"):
        ranks = [query.worker]
    pattern = parse_pattern(query.text("search"))
    stream = query.choice("stream", _STREAMS) or None
    limit = query.integer("limit", 1000, 1, _MAX_LINES)
    within = query.window if query.text("t0") or query.text("t1") else EVER
    question = LogQuestion(pattern, stream, within)
    with query.job.workers(ranks) as readers:
        page = read_logs(readers, question, limit)
    return json_reply({"lines": [_document(line) for line in page.lines], "total": page.total})


def _document(line: LogLine) -> dict[str, Any]:
    document = asdict(line)
    return {"time": document.pop("time_ns") / NANOSECONDS, **document}
