"""The status document: what `sonde status --json` prints, key by key as the contract says."""

from collections.abc import Sequence
from typing import Any

from sonde.clock import iso
from sonde.read.jobs import JobFacts, NodeAttempt
from sonde.records.job import Exit
from sonde.records.notice import Notice, NoticeKind


def status_document(
    facts: JobFacts, now_ns: int, more_damages: Sequence[str] = ()
) -> dict[str, Any]:
    """A job as plain JSON values; with damages that were found while its samples were read."""
    decisive = facts.decisive
    exit_ = _exit(decisive.exit if decisive and facts.state.is_over else None)
    return {
        "job": facts.name,
        "state": facts.state.value,
        "attempts": max((one.attempt.number for one in facts.attempts), default=0),
        "exit": exit_,
        "exit_code": exit_["code"] if exit_ else None,
        "start_time": _time(facts.start_ns),
        "end_time": _time(facts.end_ns),
        "duration_seconds": facts.seconds(now_ns),
        "stages": None,
        "steps": {},
        "nodes": list(facts.nodes),
        "workers": len(facts.workers),
        "overhead": _overhead(facts.latest),
        **_about_the_recording(facts.notices, (*facts.damages, *more_damages)),
        "rules": [],
        "runs": [_run(one) for one in facts.attempts],
    }


def _about_the_recording(notices: Sequence[Notice], damages: Sequence[str]) -> dict[str, Any]:
    damaged = {"from": None, "to": None, "reason": "damaged"}
    return {
        "lost": [_lost(one) for one in notices if one.kind is NoticeKind.LOST]
        + [{"what": text, **damaged} for text in damages],
        "not_collected": [
            {"what": one.what, "reason": one.reason}
            for one in notices
            if one.kind in (NoticeKind.NOT_COLLECTED, NoticeKind.SWITCHED_OFF)
        ],
        "notices": [
            {
                "time": iso(one.start_ns),
                "kind": one.kind.value,
                "what": one.what,
                "text": one.reason,
            }
            for one in notices
            if one.kind in (NoticeKind.CHANGED, NoticeKind.CLOCK_JUMPED)
        ],
    }


def _run(one: NodeAttempt) -> dict[str, Any]:
    around = one.surroundings
    return {
        "node": one.attempt.node,
        "attempt": one.attempt.number,
        "state": one.state.value,
        "exit": _exit(one.exit),
        "start_time": iso(one.attempt.start_ns),
        "command": list(one.attempt.command),
        "folder": one.attempt.folder,
        "pid": one.attempt.process_pid,
        "interval_seconds": one.attempt.interval_seconds,
        "git": dict(around.git) if around else {},
        "versions": dict(around.versions) if around else {},
        "machine": dict(around.machine) if around else {},
        "packages": dict(around.packages) if around else {},
        "environment": dict(around.environment) if around else {},
    }


def _exit(exit_: Exit | None) -> dict[str, Any] | None:
    if exit_ is None:
        return None
    return {
        "code": exit_.code,
        "signal": exit_.signal,
        "reason": exit_.reason.value,
        "message": exit_.message,
        "traceback": exit_.traceback,
        "worker": exit_.worker,
        "left_running": list(exit_.left_running),
    }


def _overhead(attempts: tuple[NodeAttempt, ...]) -> dict[str, Any] | None:
    costs = [one.heartbeat.overhead for one in attempts if one.heartbeat is not None]
    if not costs:
        return None
    shares = [cost.percent for cost in costs if cost.percent is not None]
    return {
        "percent": round(max(shares), 3) if shares else None,
        "cpu_seconds": round(sum(cost.cpu_seconds for cost in costs), 3),
        "bytes_written": sum(cost.bytes_written for cost in costs),
    }


def _lost(notice: Notice) -> dict[str, Any]:
    return {
        "what": notice.what,
        "from": iso(notice.start_ns),
        "to": iso(notice.end_ns),
        "reason": notice.reason,
    }


def _time(instant_ns: int | None) -> str | None:
    return None if instant_ns is None else iso(instant_ns)
