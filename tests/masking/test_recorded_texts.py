"""Secrets are masked in texts of rules, actions, notices and exceptions."""

from collections.abc import Iterator

import sonde
from sonde.engine.runner import Recorder, Runner
from sonde.errors import StoppedJobError
from sonde.hook.failure import describe
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.records.notice import Notice, NoticeKind
from sonde.rules._rule import State
from sonde.store.format import NOTICES
from tests.engine.test_dispatch import act, log_of, now, open_dispatch, recording_action
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses

SECRET = "hf_" + "AbCdEfGh0123456789XyZ"


class Leaking(sonde.Rule):
    """A rule that reports a secret."""

    needs = (sonde.Losses(),)
    window_steps = 10

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        yield self.finding(f"found {SECRET}", subject="loss")


class Failing(Leaking):
    """A rule that fails with a secret in its message."""

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        raise RuntimeError(f"not found: {SECRET}")


def assert_not_stored(job: FakeJob) -> None:
    for key in job.stored(""):
        assert SECRET.encode() not in bytes(job.backend.read(key)), key


def test_findings_and_failures_of_rules_are_masked() -> None:
    job = with_losses([1.0] * 60)
    Recorder(job.backend, job.clock, [Leaking(), Failing()]).advance()
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [Leaking(), Failing()])
    runner.advance()
    leaking, failing = runner.evaluations
    assert leaking.episodes[0].finding.message == "found ***"
    assert failing.reason is not None
    assert failing.reason.endswith("RuntimeError: not found: ***")
    assert "not found: ***" in str(failing.traceback)
    assert_not_stored(job)


def test_failures_of_actions_are_masked() -> None:
    job, action = FakeJob(), recording_action(failures=[ValueError(f"401 for {SECRET}")])
    act(open_dispatch(job, action), now(job))
    (entry,) = log_of(job)
    assert entry.message == "ValueError: 401 for ***"
    assert_not_stored(job)


def test_notices_are_masked() -> None:
    job = FakeJob()
    job.writer.notice(NoticeKind.SWITCHED_OFF, "collector", f"401 for {SECRET}")
    job.writer.report_lost(Notice(NoticeKind.LOST, "steps", f"no access with {SECRET}", 1, 2))
    job.flush()
    reasons = {row["reason"] for row in job.reader(NOTICES).rows().to_pylist()}
    assert reasons == {"401 for ***", "no access with ***"}


def test_the_reason_for_stopping_is_masked() -> None:
    assert describe(StoppedJobError(f"found {SECRET}"), 0, 0).message == "found ***"
