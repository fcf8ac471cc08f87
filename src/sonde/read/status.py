"""The status document, as printed by `sonde status --json`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from sonde.analyze.tracebacks import failing_line
from sonde.clock import iso
from sonde.read.coverage import coverage_from, why_missing
from sonde.read.failures import explain_exit, first_failure
from sonde.read.jobs import JobFacts, NodeAttempt
from sonde.read.overhead import combine_overhead
from sonde.read.training import Training, reported_steps
from sonde.read.workers import WorkerLife
from sonde.records.documents import (
    ExitDocument,
    FailingLineDocument,
    LifeDocument,
    LostDocument,
    OpenWindowDocument,
    OutputTailDocument,
    OverheadDocument,
    RecordingDocument,
    RunDocument,
    StatusDocument,
)
from sonde.records.job import JobState, Overhead
from sonde.records.notice import Notice, NoticeKind
from sonde.records.seen import Seen
from sonde.store.damage import Damage
from sonde.store.format import EVENTS

_NOT_COLLECTED = (*(NoticeKind.NOT_COLLECTED, NoticeKind.SWITCHED_OFF, NoticeKind.HOOK_NOT_LOADED),)


def status_document(
    facts: JobFacts,
    now_ns: int,
    more_damages: Sequence[str] = (),
    training: Training | None = None,
) -> StatusDocument:
    """The status of a job as plain JSON values.

    Args:
        facts: The job.
        now_ns: The current time.
        more_damages: Damage found while reading its samples.
        training: The recorded training; without it, only step counts from heartbeats.
    """
    decisive = facts.decisive
    exit_ = _exit(facts, decisive) if decisive and facts.state.is_over else None
    training = training or Training(steps=reported_steps(facts))
    return {
        "job": facts.name,
        "state": facts.state.value,
        "attempts": max((item.attempt.number for item in facts.attempts), default=0),
        "exit": exit_,
        "exit_code": exit_["code"] if exit_ else None,
        "output_tail": _output_tail(decisive),
        "start_time": _time(facts.start_ns),
        "end_time": _time(facts.end_ns),
        "duration_seconds": facts.seconds(now_ns),
        "seen": asdict(job_coverage(facts, training.steps, now_ns)),
        **training.document(),
        "nodes": list(facts.nodes),
        "workers": len(facts.workers),
        "profiling": _profiling(facts),
        "overhead": _overhead(facts),
        **_recording_notices(facts, more_damages),
        "rules": [],
        "runs": [_run(facts, item) for item in facts.attempts],
        "lives": [_life(item) for item in facts.lives],
    }


_UNFINISHED = (
    "Worker {rank} began to record, but its data has not arrived. It was killed, or the store "
    "could not be written."
)


def job_coverage(facts: JobFacts, steps: Mapping[str, int], now_ns: int) -> Seen:
    """What was recorded inside a job's processes."""
    frameworks: dict[str, str] = {}
    for item in facts.latest:
        frameworks |= item.markers.frameworks
    for life in facts.lives:  # recordings of versions without framework markers
        if life.info.framework:
            version = life.info.versions.get(life.info.framework, "")
            frameworks.setdefault(life.info.framework, version)
    shut = [item.reason for item in facts.notices if item.kind is NoticeKind.HOOK_NOT_LOADED]
    running_ns = None if facts.state.is_over else now_ns - (facts.start_ns or now_ns)
    damaged = [item.key for item in facts.ledger.damages if f"/{EVENTS.name}/" in item.key]
    lost = [item.reason for item in facts.notices if item.kind is NoticeKind.LOST_STEPS]
    has_failed = facts.state is JobState.FAILED
    missing = why_missing(damaged, lost)
    seen = coverage_from(frameworks, steps, shut, running_ns, missing, has_failed=has_failed)
    unfinished = [life.info.rank for life in facts.lives if not (life.beat and life.beat.is_over)]
    if seen.inside or shut or damaged or lost or not (unfinished and facts.state.is_over):
        return seen
    return replace(seen, inside=False, why_not=_UNFINISHED.format(rank=unfinished[0]))


def _recording_notices(facts: JobFacts, more_damages: Sequence[str]) -> RecordingDocument:
    notices, damages = facts.notices, facts.ledger.damages
    texts = {item.text for item in damages}
    more = [Damage("", text) for text in dict.fromkeys(more_damages) if text not in texts]
    return {
        "lost": [_lost(item) for item in notices if item.kind.is_loss]
        + [_damaged(item) for item in (*damages, *more)]
        + [_unsent(item) for item in facts.attempts if item.unsent],
        "not_collected": [
            {"what": item.what, "reason": item.reason}
            for item in notices
            if item.kind in _NOT_COLLECTED
        ],
        "notices": [
            {
                "time": iso(item.start_ns),
                "kind": item.kind.value,
                "what": item.what,
                "text": item.reason,
            }
            for item in notices
            if item.kind in (NoticeKind.CHANGED, NoticeKind.CLOCK_JUMPED)
        ],
    }


def _run(facts: JobFacts, attempt: NodeAttempt) -> RunDocument:
    environment = attempt.surroundings
    return {
        "node": attempt.attempt.node,
        "attempt": attempt.attempt.number,
        "state": attempt.state.value,
        "exit": _exit(facts, attempt),
        "start_time": iso(attempt.attempt.start_ns),
        "command": list(attempt.attempt.command),
        "folder": attempt.attempt.folder,
        "pid": attempt.attempt.process_pid,
        "interval_seconds": attempt.attempt.interval_seconds,
        "price_per_gpu_hour": attempt.attempt.price_per_gpu_hour,
        "git": dict(environment.git) if environment else {},
        "versions": dict(environment.versions) if environment else {},
        "machine": dict(environment.machine) if environment else {},
        "packages": dict(environment.packages) if environment else {},
        "environment": dict(environment.environment) if environment else {},
    }


def _exit(facts: JobFacts, attempt: NodeAttempt) -> ExitDocument | None:
    if attempt.exit is None:
        return None
    exit_ = explain_exit(attempt.exit, first_failure(facts.lives, attempt.attempt.number))
    return {
        "code": exit_.code,
        "signal": exit_.signal,
        "reason": exit_.reason.value,
        "message": exit_.message,
        "traceback": exit_.traceback,
        "failed_at": _failed_at(exit_.traceback),
        "worker": exit_.worker,
        "left_running": list(exit_.left_running),
    }


def _failed_at(traceback: str | None) -> FailingLineDocument | None:
    found = failing_line(traceback) if traceback else None
    if found is None:
        return None
    return {
        "file": found.file,
        "line": found.line,
        "function": found.function,
        "code": found.code,
        "row": found.row,
    }


def _output_tail(attempt: NodeAttempt | None) -> OutputTailDocument:
    tail = attempt.exit.output_tail if attempt and attempt.exit else {}
    return {"stdout": list(tail.get("stdout", ())), "stderr": list(tail.get("stderr", ()))}


def _life(life: WorkerLife) -> LifeDocument:
    info, beat, failure = life.info, life.beat, life.failure
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


def _profiling(facts: JobFacts) -> list[OpenWindowDocument]:
    """The profiling windows that are currently open."""
    attempts = {item.attempt.number for item in facts.latest if not item.state.is_over}
    beats = {
        item.info.rank: item.beat
        for item in sorted(facts.lives, key=lambda item: item.info.start_ns)
        if item.info.attempt in attempts
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


def _overhead(facts: JobFacts) -> OverheadDocument | None:
    costs = [item.heartbeat.overhead for item in facts.latest if item.heartbeat is not None]
    attempts = {item.attempt.number for item in facts.latest}
    lives = [item for item in facts.lives if item.info.attempt in attempts]
    beats = [item.beat for item in lives if item.beat is not None]
    if not costs and not beats:
        return None
    return combine_overhead(_with_reports(costs, facts.report_seconds), beats)


def _with_reports(costs: list[Overhead], cpu_seconds: float) -> list[Overhead]:
    """Add the CPU time of reports to the most expensive node, since theirs is not recorded."""
    ordered = sorted(costs, key=lambda cost: cost.cpu_seconds)
    return [*ordered[:-1], *(cost.plus(cpu_seconds) for cost in ordered[-1:])]


def _lost(notice: Notice) -> LostDocument:
    return {
        "what": notice.what,
        "from": iso(notice.start_ns),
        "to": iso(notice.end_ns),
        "reason": notice.reason,
    }


def _unsent(attempt: NodeAttempt) -> LostDocument:
    """Data of a lost node that has not reached the store."""
    node = attempt.attempt.node
    reason = f"not sent to the store yet. To send it, run on {node}: sonde send {attempt.unsent}"
    return {"what": f"remaining data of node {node}", "from": None, "to": None, "reason": reason}


def _damaged(damage: Damage) -> LostDocument:
    """A damaged or missing file, its content and time range."""
    content = damage.content
    is_in_text = content in ("", damage.key)
    return {
        "what": damage.text if is_in_text else f"{damage.text} ({content})",
        "from": _time(damage.start_ns),
        "to": _time(damage.end_ns),
        "reason": damage.reason,
        "file": damage.key or None,
    }


def _time(instant_ns: int | None) -> str | None:
    return None if instant_ns is None else iso(instant_ns)
