"""The status document: what `sonde status --json` prints, key by key as the contract says."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sonde.clock import iso
from sonde.read.coverage import seen_of
from sonde.read.failures import explain, first_failure
from sonde.read.jobs import JobFacts, NodeAttempt
from sonde.read.training import Training, steps_told
from sonde.read.workers import WorkerLife
from sonde.records.job import Overhead
from sonde.records.notice import INSIDE, Notice, NoticeKind
from sonde.records.seen import Seen
from sonde.store.damage import Damage
from sonde.store.format import EVENTS


def status_document(
    facts: JobFacts,
    now_ns: int,
    more_damages: Sequence[str] = (),
    training: Training | None = None,
) -> dict[str, Any]:
    """A job as plain JSON values.

    Args:
        facts: What is known about it.
        now_ns: The present instant.
        more_damages: Those that were found while its samples were read.
        training: What its workers did; without it, only what they told of themselves.
    """
    decisive = facts.decisive
    exit_ = _exit(facts, decisive) if decisive and facts.state.is_over else None
    training = training or Training(steps=steps_told(facts))
    return {
        "job": facts.name,
        "state": facts.state.value,
        "attempts": max((one.attempt.number for one in facts.attempts), default=0),
        "exit": exit_,
        "exit_code": exit_["code"] if exit_ else None,
        "start_time": _time(facts.start_ns),
        "end_time": _time(facts.end_ns),
        "duration_seconds": facts.seconds(now_ns),
        "seen": asdict(seen_in(facts, training.steps, now_ns)),
        **training.document(),
        "nodes": list(facts.nodes),
        "workers": len(facts.workers),
        "profiling": _profiling(facts),
        "overhead": _overhead(facts),
        **_about_the_recording(facts, more_damages),
        "rules": [],
        "runs": [_run(facts, one) for one in facts.attempts],
        "lives": [_life(one) for one in facts.lives],
    }


def seen_in(facts: JobFacts, steps: Mapping[str, int], now_ns: int) -> Seen:
    """What was seen of a job from inside."""
    frameworks: dict[str, str] = {}
    for one in facts.latest:
        frameworks |= one.markers.frameworks
    for life in facts.lives:  # of a recording from before that was noted
        if life.info.framework:
            version = life.info.versions.get(life.info.framework, "")
            frameworks.setdefault(life.info.framework, version)
    shut = [one.reason for one in facts.notices if one.what == INSIDE]
    running_ns = None if facts.state.is_over else now_ns - (facts.start_ns or now_ns)
    damaged = [one.key for one in facts.ledger.damages if f"/{EVENTS.name}/" in one.key]
    lost = [notice.reason for notice in facts.notices if notice.is_loss_of_steps]
    return seen_of(frameworks, steps, shut, running_ns, damaged, lost)


def _about_the_recording(facts: JobFacts, more_damages: Sequence[str]) -> dict[str, Any]:
    notices, damages = facts.notices, facts.ledger.damages
    known = {one.text for one in damages}
    more = [Damage("", text) for text in dict.fromkeys(more_damages) if text not in known]
    return {
        "lost": [_lost(one) for one in notices if one.kind is NoticeKind.LOST]
        + [_damaged(one) for one in (*damages, *more)]
        + [_unsent(one) for one in facts.attempts if one.unsent],
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


def _run(facts: JobFacts, one: NodeAttempt) -> dict[str, Any]:
    around = one.surroundings
    return {
        "node": one.attempt.node,
        "attempt": one.attempt.number,
        "state": one.state.value,
        "exit": _exit(facts, one),
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


def _exit(facts: JobFacts, one: NodeAttempt) -> dict[str, Any] | None:
    if one.exit is None:
        return None
    exit_ = explain(one.exit, first_failure(facts.lives, one.attempt.number))
    return {
        "code": exit_.code,
        "signal": exit_.signal,
        "reason": exit_.reason.value,
        "message": exit_.message,
        "traceback": exit_.traceback,
        "worker": exit_.worker,
        "left_running": list(exit_.left_running),
    }


def _life(one: WorkerLife) -> dict[str, Any]:
    info, beat, failure = one.info, one.beat, one.failure
    return {
        "worker": info.rank,
        "node": info.node,
        "attempt": info.attempt,
        "restart": info.restart,
        "pid": info.pid,
        "start_time": iso(info.start_ns),
        "world_size": info.world_size,
        "device": info.device,
        "framework": info.framework,
        "versions": dict(info.versions),
        "steps": dict(beat.steps) if beat else {},
        "is_over": beat.is_over if beat else False,
        "failure": failure.message if failure else None,
    }


def _profiling(facts: JobFacts) -> list[dict[str, Any]]:
    """The windows in which a profiler looks deeper just now."""
    attempts = {one.attempt.number for one in facts.latest if not one.state.is_over}
    beats = {
        one.info.rank: one.beat
        for one in sorted(facts.lives, key=lambda one: one.info.start_ns)
        if one.info.attempt in attempts
    }
    return [
        {
            "worker": rank,
            "kind": window.kind.value,
            "first_step": window.first_step,
            "last_step": window.last_step,
            "since": iso(window.start_ns),
            "by": window.by,
        }
        for rank, beat in sorted(beats.items())
        if beat is not None and not beat.is_over and (window := beat.window) is not None
    ]


def _overhead(facts: JobFacts) -> dict[str, Any] | None:
    """What watching costs.

    `hook_percent` is the time that hooks take in the training thread, in percent of the steps, of
    the worker where it is most; `launcher_percent` is CPU time in percent of a core, on the node
    where it is most. `percent` is the first where something trains, else the second.
    """
    costs = [one.heartbeat.overhead for one in facts.latest if one.heartbeat is not None]
    costs = _with_reports(costs, facts.report_seconds)
    attempts = {one.attempt.number for one in facts.latest}
    lives = [one for one in facts.lives if one.info.attempt in attempts]
    beats = [one.beat for one in lives if one.beat is not None]
    if not costs and not beats:
        return None
    cores = [cost.percent for cost in costs if cost.percent is not None]
    hooks = [
        100 * beat.hook_seconds / beat.training_seconds for beat in beats if beat.training_seconds
    ]
    launcher_percent = round(max(cores), 3) if cores else None
    hook_percent = round(max(hooks), 3) if hooks else None
    cpu_seconds = sum(cost.cpu_seconds for cost in costs)
    cpu_seconds += sum(beat.hook_seconds + beat.thread_seconds for beat in beats)
    bytes_written = sum(cost.bytes_written for cost in costs)
    bytes_written += sum(beat.bytes_written for beat in beats)
    return {
        "percent": launcher_percent if hook_percent is None else hook_percent,
        "hook_percent": hook_percent,
        "launcher_percent": launcher_percent,
        "cpu_seconds": round(cpu_seconds, 3),
        "bytes_written": bytes_written,
    }


def _with_reports(costs: list[Overhead], cpu_seconds: float) -> list[Overhead]:
    """Where reports were written is not known: they are added to what is dearest."""
    ordered = sorted(costs, key=lambda one: one.cpu_seconds)
    return [*ordered[:-1], *(one.plus(cpu_seconds) for one in ordered[-1:])]


def _lost(notice: Notice) -> dict[str, Any]:
    return {
        "what": notice.what,
        "from": iso(notice.start_ns),
        "to": iso(notice.end_ns),
        "reason": notice.reason,
    }


def _unsent(one: NodeAttempt) -> dict[str, Any]:
    """What is not lost, and not here either."""
    node = one.attempt.node
    reason = f"not in the store yet. To send it, on {node}: sonde send {one.unsent}"
    return {"what": f"the rest of node {node}", "from": None, "to": None, "reason": reason}


def _damaged(damage: Damage) -> dict[str, Any]:
    """Which file, what it held and over which time."""
    content = damage.content
    is_told = content in ("", damage.key)
    return {
        "what": damage.text if is_told else f"{damage.text} ({content})",
        "from": _time(damage.start_ns),
        "to": _time(damage.end_ns),
        "reason": damage.reason,
        "file": damage.key or None,
    }


def _time(instant_ns: int | None) -> str | None:
    return None if instant_ns is None else iso(instant_ns)
