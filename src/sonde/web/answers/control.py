"""Requests to a running job, and its removal."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sonde.clock import iso
from sonde.errors import JobNotRunningError, UsageError
from sonde.read.jobs import read_job
from sonde.read.listeners import listeners
from sonde.records.job_summary import Annotations
from sonde.records.profile import ProfileKind
from sonde.records.request import Request, RequestKind
from sonde.settings import parse_interval, requested_windows
from sonde.store import layout
from sonde.store.annotations import write_annotations
from sonde.store.control import replies_to, send_request
from sonde.store.facts import build_record, decode_facts
from sonde.store.removal import remove_job
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply

_BY = "the dashboard"
_ID = re.compile(r"[0-9]{20}-[0-9a-f]{8}")
_GRACE_SECONDS = 10
_MAX_GRACE_SECONDS = 3600
_MAX_NUMBER = 10**15  # floats represent integers up to this exactly


class Control(EndpointGroup):
    """Endpoints that change a job: requests go through its store, and its nodes reply there."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (
            Endpoint("/jobs/{job}/stop", _stop, "POST"),
            Endpoint("/jobs/{job}/set", _set, "POST"),
            Endpoint("/jobs/{job}/profile", _profile, "POST"),
            Endpoint("/jobs/{job}/requests/{request}", _replies, is_cached=False),
            Endpoint("/jobs/{job}/annotations", _annotate, "POST"),
            Endpoint("/jobs/{job}", _delete, "DELETE"),
        )


def _stop(query: Query) -> Reply:
    grace = _number(query.body, "grace_seconds", _GRACE_SECONDS)
    if not 0 <= grace <= _MAX_GRACE_SECONDS:
        raise UsageError(
            f"grace_seconds must be between 0 and {_MAX_GRACE_SECONDS}, not {grace:g}."
        )
    return _send(query, RequestKind.STOP, {"grace_seconds": f"{grace:g}", "by": _BY})


def _set(query: Query) -> Reply:
    changes: dict[str, str] = {}
    unknown = query.body.keys() - {"interval_seconds", "monitoring"}
    if unknown:
        raise UsageError(f"Cannot set {min(unknown)!r}. Available: interval_seconds, monitoring")
    if "interval_seconds" in query.body:
        changes["interval"] = f"{1000 * _number(query.body, 'interval_seconds', 0):g}ms"
        parse_interval(changes["interval"])
    if "monitoring" in query.body:
        if not isinstance(query.body["monitoring"], bool):
            raise UsageError("monitoring must be true or false.")
        changes["monitoring"] = "on" if query.body["monitoring"] else "off"
    if not changes:
        raise UsageError("No settings specified. Available: interval_seconds, monitoring")
    return _send(query, RequestKind.SET, changes)


def _profile(query: Query) -> Reply:
    body = query.body
    if ("steps" in body) == ("seconds" in body):
        raise UsageError("Specify either steps or seconds.")
    kinds = body.get("kinds") or []
    choices = [kind.value for kind in ProfileKind]
    if not isinstance(kinds, list) or not kinds or any(kind not in choices for kind in kinds):
        raise UsageError(f"kinds must be a list of: {', '.join(choices)}")
    arguments = {"kinds": ",".join(kinds), "by": _BY}
    unit = "steps" if "steps" in body else "seconds"
    arguments[unit] = f"{_number(body, unit, 1):.15g}"
    requested_windows(arguments, "profile:")
    return _send(query, RequestKind.PROFILE, arguments)


def _send(query: Query, kind: RequestKind, arguments: dict[str, str]) -> Reply:
    job = query.job
    recipients = listeners(job.facts, kind)
    request = send_request(job.backend, job.clock, kind, arguments)
    return json_reply({"request": request.id, "recipients": sorted(recipients)}, 202)


def _replies(query: Query) -> Reply:
    request_id = query.path["request"]
    if not _ID.fullmatch(request_id):
        raise UsageError(f"{request_id!r} is not a request ID.")
    job = query.job
    key = layout.request_key(request_id)
    request = decode_facts(Request, job.backend.read(key), key)
    replies = replies_to(job.backend, request)
    try:
        waiting = listeners(job.facts, request.kind) - replies.keys()
    except JobNotRunningError:
        waiting = set()
    answers = {
        name: {"done": reply.is_done, "message": reply.message, "time": iso(reply.time_ns)}
        for name, reply in sorted(replies.items())
    }
    return json_reply(
        {
            "request": request.id,
            "kind": request.kind.value,
            "time": iso(request.time_ns),
            "replies": answers,
            "waiting": sorted(waiting),
        }
    )


def _annotate(query: Query) -> Reply:
    """Replace the tags, group and note of a job."""
    try:
        annotations = build_record(Annotations, dict(query.body))
    except (TypeError, ValueError) as error:
        raise UsageError(f"Invalid annotations: {error}") from error
    stored = write_annotations(query.job.backend, annotations)
    query.library.catalog.read_again(query.job.name)
    return json_reply(asdict(stored))


def _delete(query: Query) -> Reply:
    job = query.job
    facts = read_job(
        job.backend, job.clock.now_ns()
    )  # not cached: the job may just have been resumed
    if facts.info is None:
        raise UsageError(
            f"Job {job.name!r} was not removed: its {layout.JOB} is damaged or not from Sonde."
        )
    if not facts.state.is_over:
        raise UsageError(f"Job {job.name!r} is {facts.state.value}. Stop it first.")
    removed = remove_job(job.backend)
    query.library.forget(job.name)
    document = {"removed": job.name, "bytes_freed": removed.bytes, "left": list(removed.remaining)}
    return json_reply(document)


def _number(body: Mapping[str, Any], name: str, default: float) -> float:
    number = body.get(name, default)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise UsageError(f"{name} must be a number, not {number!r}.")
    if abs(number) > _MAX_NUMBER:
        raise UsageError(f"{name} is too large.")
    return float(number)
