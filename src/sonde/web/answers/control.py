"""Requests to a running job, and its removal: the same that `sonde stop`, `set` and `rm` do."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sonde.clock import iso
from sonde.errors import JobNotRunningError, UsageError
from sonde.read.jobs import read_job
from sonde.read.listeners import listeners
from sonde.records.profile import ProfileKind
from sonde.records.request import Request, RequestKind
from sonde.settings import parse_interval, requested_windows
from sonde.store import layout
from sonde.store.control import replies_to, send_request
from sonde.store.facts import decode_facts
from sonde.store.removal import remove_job
from sonde.web.answers._answers import Address, Answers
from sonde.web.query_params import Question
from sonde.web.replies import Reply, json_reply

_BY = "the dashboard"
_ID = re.compile(r"[0-9]{20}-[0-9a-f]{8}")
_GRACE_SECONDS = 10
_LONGEST_GRACE = 3600
_LARGEST = 10**15  # what a float still holds as it is


class Control(Answers):
    """What changes a job: each request is put into its store, and its nodes answer there."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (
            Address("/jobs/{job}/stop", _stop, "POST"),
            Address("/jobs/{job}/set", _set, "POST"),
            Address("/jobs/{job}/profile", _profile, "POST"),
            Address("/jobs/{job}/requests/{request}", _replies, is_kept=False),
            Address("/jobs/{job}", _delete, "DELETE"),
        )


def _stop(question: Question) -> Reply:
    grace = _number(question.body, "grace_seconds", _GRACE_SECONDS)
    if not 0 <= grace <= _LONGEST_GRACE:
        raise UsageError(f"grace_seconds is between 0 and {_LONGEST_GRACE}, not {grace:g}.")
    return _send(question, RequestKind.STOP, {"grace_seconds": f"{grace:g}", "by": _BY})


def _set(question: Question) -> Reply:
    changes: dict[str, str] = {}
    unknown = question.body.keys() - {"interval_seconds", "monitoring"}
    if unknown:
        raise UsageError(f"Cannot set {min(unknown)!r}. Known: interval_seconds, monitoring")
    if "interval_seconds" in question.body:
        changes["interval"] = f"{1000 * _number(question.body, 'interval_seconds', 0):g}ms"
        parse_interval(changes["interval"])
    if "monitoring" in question.body:
        if not isinstance(question.body["monitoring"], bool):
            raise UsageError("monitoring is true or false.")
        changes["monitoring"] = "on" if question.body["monitoring"] else "off"
    if not changes:
        raise UsageError("Nothing to set. Known: interval_seconds, monitoring")
    return _send(question, RequestKind.SET, changes)


def _profile(question: Question) -> Reply:
    body = question.body
    if ("steps" in body) == ("seconds" in body):
        raise UsageError("Say either steps or seconds.")
    kinds = body.get("kinds") or []
    known = [one.value for one in ProfileKind]
    if not isinstance(kinds, list) or not kinds or any(one not in known for one in kinds):
        raise UsageError(f"kinds is a list of {', '.join(known)}.")
    arguments = {"kinds": ",".join(kinds), "by": _BY}
    unit = "steps" if "steps" in body else "seconds"
    arguments[unit] = f"{_number(body, unit, 1):.15g}"
    requested_windows(arguments, "profile:")
    return _send(question, RequestKind.PROFILE, arguments)


def _send(question: Question, kind: RequestKind, arguments: dict[str, str]) -> Reply:
    job = question.job
    asked = listeners(job.facts, kind)
    request = send_request(job.backend, job.clock, kind, arguments)
    return json_reply({"request": request.id, "asked": sorted(asked)}, 202)


def _replies(question: Question) -> Reply:
    wanted = question.path["request"]
    if not _ID.fullmatch(wanted):
        raise UsageError(f"{wanted!r} is not a request.")
    job = question.job
    key = layout.request_key(wanted)
    request = decode_facts(Request, job.backend.read(key), key)
    replies = replies_to(job.backend, request)
    try:
        waiting = listeners(job.facts, request.kind) - replies.keys()
    except JobNotRunningError:
        waiting = set()
    answers = {
        name: {"done": one.is_done, "message": one.message, "time": iso(one.time_ns)}
        for name, one in sorted(replies.items())
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


def _delete(question: Question) -> Reply:
    job = question.job
    facts = read_job(job.backend, job.clock.now_ns())  # now: it may have been continued just so
    if facts.info is None:
        raise UsageError(f"{layout.JOB} of {job.name!r} is damaged or not ours; not removed.")
    if not facts.state.is_over:
        raise UsageError(f"Job {job.name!r} is {facts.state.value}. Stop it first.")
    removed = remove_job(job.backend)
    question.library.forget(job.name)
    left = list(removed.left)
    return json_reply({"removed": job.name, "bytes_freed": removed.bytes, "left": left})


def _number(body: Mapping[str, Any], name: str, default: float) -> float:
    found = body.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise UsageError(f"{name} is a number, not {found!r}.")
    if abs(found) > _LARGEST:
        raise UsageError(f"{name} is too large.")
    return float(found)
