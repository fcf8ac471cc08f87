"""Dispatch of actions: once per episode, with cool-down, retries and a stored log."""

import json
import threading
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

import pytest

from sonde.actions import Action, Occasion
from sonde.clock import SystemClock
from sonde.engine.action_channel import PAUSES_SECONDS
from sonde.engine.action_plan import ActionPlan
from sonde.engine.dispatch import Dispatch
from sonde.errors import ActionError, StoreError
from sonde.read.actions import read_actions
from sonde.records.action import ActionRecord, ActionStatus
from sonde.records.finding import Episode, Severity
from sonde.store.facts import encode_facts
from sonde.store.format import FINDINGS
from sonde.store.layout import FINDINGS_FOLDER, attempt_key
from sonde.store.writer import Writer
from tests.fakes.eventually import eventually
from tests.fakes.job import FakeJob
from tests.fakes.occasions import action as build
from tests.fakes.occasions import episode
from tests.fakes.web_server import WebServer

MINUTE = 60.0


class RecordingAction(Action):
    """Records its episodes and raises the given failures first."""

    affects_job = False
    episodes: list[str] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def perform(self, occasion: Occasion) -> str:
        self.episodes.append(occasion.episode.id)
        if self.failures:
            raise self.failures.pop(0)
        return f"told of {occasion.episode.finding.rule}"


class OnTheJob(RecordingAction):
    """An action that affects the running job."""

    affects_job = True


def recording_action(
    kind: type[RecordingAction] = RecordingAction, **settings: Any
) -> RecordingAction:
    defaults = {"min_severity": Severity.WARNING, "cool_down_seconds": 0.0}
    return kind(name="tell", folder=Path("/"), **{**defaults, **settings})


def open_dispatch(job: FakeJob, *actions: Action, rules: tuple[str, ...] = ("A", "B")) -> Dispatch:
    plan = ActionPlan(dict.fromkeys(rules, actions))
    return Dispatch(job.backend, job.clock, plan, is_in_background=False)


def now(job: FakeJob, rule: str = "A", **about: Any) -> Episode:
    return episode(rule, at_ns=job.clock.now_ns(), **about)


def log_of(job: FakeJob) -> list[ActionRecord]:
    return list(read_actions(job.backend, []))


def act(dispatch: Dispatch, *episodes: Episode) -> None:
    dispatch.take(episodes)
    dispatch.work()


def test_an_action_is_performed_once_per_episode() -> None:
    job, action = FakeJob(), recording_action()
    dispatch = open_dispatch(job, action)
    first = now(job)
    for _ in range(3):
        job.clock.advance(MINUTE)
        act(dispatch, replace(first, last_ns=job.clock.now_ns()))
    act(dispatch, replace(first, is_open=False))
    act(dispatch, now(job, number=2))

    assert action.episodes == ["A:///:1", "A:///:2"]
    (entry, _) = log_of(job)
    assert (entry.action, entry.rule, entry.severity) == ("tell", "A", Severity.CRITICAL)
    assert (entry.status, entry.message, entry.attempts) == (ActionStatus.DONE, "told of A", 1)


def test_a_restarted_monitor_repeats_no_action() -> None:
    job, action = FakeJob(), recording_action()
    act(open_dispatch(job, action), now(job))
    act(open_dispatch(job, action), now(job), now(job, "B"))
    assert action.episodes == ["A:///:1", "B:///:1"]


def test_only_findings_of_rules_with_actions_trigger_them() -> None:
    job, action = FakeJob(), recording_action()
    act(open_dispatch(job, action, rules=("B",)), now(job), now(job, "B"))
    assert action.episodes == ["B:///:1"]


def test_findings_below_the_minimum_severity_wait_until_they_get_worse() -> None:
    job, action = FakeJob(), recording_action()
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job, severity=Severity.INFO))
    assert action.episodes == []
    assert log_of(job) == []
    act(dispatch, now(job, severity=Severity.CRITICAL))
    assert action.episodes == ["A:///:1"]


def test_a_stop_refused_for_its_severity_is_recorded() -> None:
    job, action = FakeJob(), recording_action(OnTheJob, min_severity=Severity.CRITICAL)
    act(open_dispatch(job, action), now(job, severity=Severity.WARNING))
    (entry,) = log_of(job)
    assert entry.status is ActionStatus.REFUSED
    assert entry.message == "severity warning is below min_severity critical"


def test_after_an_action_its_rule_has_a_cool_down() -> None:
    job, action = FakeJob(), recording_action(cool_down_seconds=10 * MINUTE)
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job, node="a"))
    job.clock.advance(MINUTE)
    act(dispatch, now(job, node="b"), now(job, "B"))
    assert action.episodes == ["A:a///:1", "B:///:1"]
    assert [item.status.value for item in log_of(job)].count("held-back") == 1

    job.clock.advance(10 * MINUTE)
    act(dispatch)  # no new episode; that of node b is still open
    assert action.episodes == ["A:a///:1", "B:///:1", "A:b///:1"]


def test_findings_that_recover_within_the_cool_down_are_skipped() -> None:
    job, action = FakeJob(), recording_action(cool_down_seconds=10 * MINUTE)
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job, node="a"))
    act(dispatch, now(job, node="b"))
    act(dispatch, now(job, node="b", is_open=False))
    job.clock.advance(20 * MINUTE)
    act(dispatch)
    assert action.episodes == ["A:a///:1"]


def test_a_more_severe_finding_skips_the_cool_down() -> None:
    job, action = FakeJob(), recording_action(cool_down_seconds=10 * MINUTE)
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job, node="a", severity=Severity.WARNING))
    act(dispatch, now(job, node="b", severity=Severity.CRITICAL))
    assert len(action.episodes) == 2


def test_a_failed_action_is_retried_with_increasing_pauses() -> None:
    job = FakeJob()
    action = recording_action(failures=[ActionError("no answer"), ActionError("no answer")])
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job))
    (entry,) = log_of(job)
    assert (entry.status, entry.message) == (ActionStatus.WAITING, "no answer")

    dispatch.work()  # before the first retry
    assert len(action.episodes) == 1
    for pause in PAUSES_SECONDS[:2]:
        job.clock.advance(pause)
        dispatch.work()
    (entry,) = log_of(job)
    assert (entry.status, entry.attempts) == (ActionStatus.DONE, 3)


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [
        (ActionError("never"), len(PAUSES_SECONDS) + 1),
        (ActionError("never", is_final=True), 1),
        (ZeroDivisionError("a mistake in the action"), 1),
    ],
)
def test_a_failing_action_is_eventually_abandoned(failure: Exception, attempts: int) -> None:
    job, action = FakeJob(), recording_action(failures=[failure] * 20)
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job))
    for pause in (*PAUSES_SECONDS, 3600.0):
        job.clock.advance(pause)
        dispatch.work()
    (entry,) = log_of(job)
    assert (entry.status, entry.attempts) == (ActionStatus.FAILED, attempts)
    assert str(failure) in entry.message
    act(dispatch, now(job))
    assert len(action.episodes) == attempts


def test_a_retry_waits_as_long_as_the_action_requires() -> None:
    job, action = FakeJob(), recording_action(failures=[ActionError("busy", after_seconds=100.0)])
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job))
    job.clock.advance(99.0)
    dispatch.work()
    assert len(action.episodes) == 1
    job.clock.advance(1.0)
    dispatch.work()
    assert len(action.episodes) == 2


def test_a_new_watcher_completes_unfinished_actions() -> None:
    job = FakeJob()
    first = recording_action(failures=[ActionError("no answer")])
    episode = now(job)
    keep_finding(job, episode)
    act(open_dispatch(job, first), episode)
    repeated = recording_action()
    act(open_dispatch(job, repeated))
    assert repeated.episodes == [episode.id]
    assert [item.status for item in log_of(job)] == [ActionStatus.DONE]


def test_failed_actions_are_retried_once_at_the_end() -> None:
    job, action = FakeJob(), recording_action(failures=[ActionError("no answer")])
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job))
    dispatch.close(5.0)
    assert [entry.status for entry in log_of(job)] == [ActionStatus.DONE]

    hopeless = recording_action(failures=[ActionError("no answer")] * 9)
    dispatch = open_dispatch(job, hopeless)
    act(dispatch, now(job, "B"))
    dispatch.close(5.0)
    assert [entry.status.value for entry in log_of(job)] == ["done", "failed"]


def test_a_broken_action_does_not_delay_others() -> None:
    job = FakeJob()
    broken, second = (
        recording_action(failures=[KeyError("x")]),
        replace(recording_action(), name="other", episodes=[]),
    )
    act(open_dispatch(job, broken, second), now(job))
    assert {item.action: item.status.value for item in log_of(job)} == {
        "tell": "failed",
        "other": "done",
    }


def test_findings_of_an_earlier_attempt_do_not_stop_this_one() -> None:
    job, action = FakeJob(), recording_action(OnTheJob)
    old = replace(now(job), first_ns=0, last_ns=job.clock.now_ns() - 1)
    act(open_dispatch(job, action), old)
    assert action.episodes == []


def test_a_job_that_was_stopped_and_resumed_can_be_stopped_again() -> None:
    job, action = FakeJob(), recording_action(OnTheJob)
    act(open_dispatch(job, action), now(job))
    job.clock.advance(MINUTE)
    resumed = Dispatch(job.backend, job.clock, ActionPlan({"A": (action,)}), is_in_background=False)
    restart(job)
    act(resumed, now(job))
    act(resumed, now(job))
    assert action.episodes == ["A:///:1", "A:///:1"]


def test_an_action_that_runs_once_is_not_repeated_for_another_rule() -> None:
    class Once(OnTheJob):
        """An action that is performed once per job."""

        runs_once = True

    job, action = FakeJob(), recording_action(Once)
    dispatch = open_dispatch(job, action)
    act(dispatch, now(job), now(job, "B"))
    assert action.episodes == ["A:///:1"]
    assert [entry.message for entry in log_of(job)] == ["already performed for A", "told of A"]


def test_a_finished_job_is_not_stopped() -> None:
    job, action = FakeJob(), recording_action(OnTheJob)
    dispatch = open_dispatch(job, action)
    result = now(job)
    job.end()
    act(dispatch, result)
    assert action.episodes == []
    assert [item.message for item in log_of(job)] == ["the job has ended"]


def test_a_resolved_finding_does_not_stop_the_job() -> None:
    job, action = FakeJob(), recording_action(OnTheJob)
    episode = now(job)
    act(open_dispatch(job, action), episode, replace(episode, is_open=False))
    assert action.episodes == []


def test_actions_are_performed_even_if_the_store_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, action = FakeJob(), recording_action()
    dispatch = open_dispatch(job, action)

    def fail(*_: object) -> None:
        raise OSError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(type(job.backend), "write", fail)
        act(dispatch, now(job))
    assert action.episodes == ["A:///:1"]
    act(dispatch, now(job))
    assert action.episodes == ["A:///:1"]
    assert [item.status for item in log_of(job)] == [ActionStatus.DONE]


def test_actions_are_performed_once_the_store_can_be_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, action = FakeJob(), recording_action(OnTheJob)
    dispatch = open_dispatch(job, action)

    def fail(*_: object) -> None:
        raise StoreError("no answer")

    with monkeypatch.context() as broken:
        broken.setattr(type(job.backend), "read", fail)
        act(dispatch, now(job))
    assert action.episodes == []
    act(dispatch)
    assert action.episodes == ["A:///:1"]


def test_a_web_server_that_fails_twice_gets_the_finding_on_the_third_attempt(
    tmp_path: Path,
) -> None:
    job = FakeJob()
    with WebServer([503, 500]) as server:
        settings = f'kind = "webhook"\nurl = "{server.url}"'
        dispatch = open_dispatch(job, build(tmp_path, settings))
        act(dispatch, now(job))
        for pause in PAUSES_SECONDS[:2]:
            job.clock.advance(pause)
            dispatch.work()
    (entry,) = log_of(job)
    assert (entry.status, entry.attempts) == (ActionStatus.DONE, 3)
    assert len({item.body for item in server.received}) == 1


def test_a_slow_action_does_not_delay_others_in_the_background() -> None:
    job, gate = FakeJob(), threading.Event()

    class Slow(RecordingAction):
        """Waits for the gate."""

        def perform(self, occasion: Occasion) -> str:
            gate.wait(30)
            return super().perform(occasion)

    slow = replace(recording_action(Slow), name="slow")
    quick = recording_action()
    plan = ActionPlan({"A": (slow, quick)})
    # with a fake clock, waiting threads would use up the time limit
    dispatch = Dispatch(job.backend, SystemClock(), plan)
    dispatch.take([now(job)])
    assert eventually(lambda: quick.episodes)
    assert slow.episodes == []
    gate.set()
    assert eventually(lambda: slow.episodes)
    dispatch.close(30.0)
    assert {entry.status for entry in log_of(job)} == {ActionStatus.DONE}


def keep_finding(job: FakeJob, result: Episode) -> None:
    """Store a finding, as the watcher does before dispatching actions."""
    writer = Writer(job.backend, FINDINGS_FOLDER, job.clock)
    texts = (result.finding.rule, result.severity.value, result.finding.message)
    writer.add(FINDINGS, (result.last_ns, *texts, json.dumps(asdict(result))))
    writer.flush()
    writer.outbox.write_waiting()


def restart(job: FakeJob) -> None:
    """Start another attempt of the job."""
    repeated = replace(job._attempt(), number=2)
    job.backend.write(attempt_key(job.node, 2, "start"), encode_facts(repeated))
