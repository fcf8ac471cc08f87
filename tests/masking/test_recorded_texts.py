"""Texts of others that are recorded pass the mask: rules, actions, notices, exceptions."""

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


class Talkative(sonde.Rule):
    """A rule that repeats what it has read."""

    needs = (sonde.Losses(),)
    window_steps = 10

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        yield self.finding(f"found {SECRET}", subject="loss")


class Failing(Talkative):
    """A rule that fails with what it has read."""

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        raise RuntimeError(f"not found: {SECRET}")


def assert_nowhere(job: FakeJob) -> None:
    for key in job.stored(""):
        assert SECRET.encode() not in bytes(job.backend.read(key)), key


def test_what_rules_say_and_how_they_fail_is_masked() -> None:
    job = with_losses([1.0] * 60)
    Recorder(job.backend, job.clock, [Talkative(), Failing()]).advance()
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [Talkative(), Failing()])
    runner.advance()
    talkative, failing = runner.evaluations
    assert talkative.episodes[0].finding.message == "found ***"
    assert failing.reason is not None
    assert failing.reason.endswith("RuntimeError: not found: ***")
    assert "not found: ***" in str(failing.traceback)
    assert_nowhere(job)


def test_what_actions_answer_and_how_they_fail_is_masked() -> None:
    job, action = FakeJob(), recording_action(failures=[ValueError(f"401 for {SECRET}")])
    act(open_dispatch(job, action), now(job))
    (entry,) = log_of(job)
    assert entry.message == "ValueError: 401 for ***"
    assert_nowhere(job)


def test_notices_are_masked() -> None:
    job = FakeJob()
    job.writer.notice(NoticeKind.SWITCHED_OFF, "collector", f"401 for {SECRET}")
    job.writer.report_lost(Notice(NoticeKind.LOST, "steps", f"no access with {SECRET}", 1, 2))
    job.flush()
    reasons = {row["reason"] for row in job.reader(NOTICES).rows().to_pylist()}
    assert reasons == {"401 for ***", "no access with ***"}


def test_the_reason_of_a_stop_is_masked() -> None:
    assert describe(StoppedJobError(f"found {SECRET}"), 0, 0).message == "found ***"
