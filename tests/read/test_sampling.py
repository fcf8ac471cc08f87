"""Sampling settings are read from heartbeats, or from notices in older jobs."""

from dataclasses import replace

import pytest

from sonde.read.jobs import JobFacts, read_job
from sonde.read.sampling import Sampling, read_sampling
from sonde.records.job import Heartbeat, Overhead
from sonde.records.notice import NoticeKind
from tests.fakes.job import FakeJob


def facts_with(job: FakeJob, heartbeat: Heartbeat) -> JobFacts:
    facts = read_job(job.backend, job.clock.now_ns())
    attempts = tuple(replace(attempt, heartbeat=heartbeat) for attempt in facts.attempts)
    return replace(facts, attempts=attempts)


def heartbeat(*, is_monitoring: bool | None) -> Heartbeat:
    overhead = Overhead(0.0, 0, 1.0)
    return Heartbeat(1, 5.0, overhead, interval_seconds=2.0, is_monitoring=is_monitoring)


@pytest.mark.parametrize("is_monitoring", [True, False])
def test_monitoring_state_comes_from_the_heartbeat(is_monitoring: bool) -> None:
    job = FakeJob()
    opposite = "off" if is_monitoring else "on"
    job.writer.notice(NoticeKind.CHANGED, "monitoring", f"set to {opposite} on request")
    job.flush()
    facts = facts_with(job, heartbeat(is_monitoring=is_monitoring))
    assert read_sampling(facts) == Sampling(2.0, is_monitoring)


@pytest.mark.parametrize(("value", "is_monitoring"), [("off", False), ("on", True)])
def test_monitoring_state_of_an_older_job_comes_from_its_last_notice(
    value: str, is_monitoring: bool
) -> None:
    job = FakeJob()
    job.writer.notice(NoticeKind.CHANGED, "monitoring", "set to on on request")
    job.writer.notice(NoticeKind.CHANGED, "monitoring", f"set to {value} on request")
    job.flush()
    facts = facts_with(job, heartbeat(is_monitoring=None))
    assert read_sampling(facts).is_monitoring is is_monitoring


def test_a_job_without_notices_is_monitored() -> None:
    assert read_sampling(facts_with(FakeJob(), heartbeat(is_monitoring=None))).is_monitoring
