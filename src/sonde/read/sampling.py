"""The sampling interval of a job's machines, and whether monitoring is on."""

from dataclasses import dataclass

from sonde.read.jobs import JobFacts
from sonde.records.notice import Notice, NoticeKind


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sampling of a job's first node."""

    interval_seconds: float | None
    is_monitoring: bool


def read_sampling(facts: JobFacts) -> Sampling:
    """Read the latest state that the launchers recorded."""
    heartbeats = [node.heartbeat for node in facts.latest if node.heartbeat]
    intervals = [
        heartbeat.interval_seconds
        for heartbeat in heartbeats
        if heartbeat.interval_seconds is not None
    ]
    intervals += [node.attempt.interval_seconds for node in facts.latest]
    states = [
        heartbeat.is_monitoring for heartbeat in heartbeats if heartbeat.is_monitoring is not None
    ]
    is_monitoring = all(states) if states else _is_monitoring_by_notices(facts.notices)
    return Sampling(intervals[0] if intervals else None, is_monitoring)


def _is_monitoring_by_notices(notices: tuple[Notice, ...]) -> bool:
    """Whether monitoring is on in a job of version 0.1, which recorded this only as a sentence."""
    sentences = [
        notice.reason
        for notice in notices
        if notice.kind is NoticeKind.CHANGED and notice.what == "monitoring"
    ]
    return not (sentences and sentences[-1].startswith("set to off "))
