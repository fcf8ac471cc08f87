"""All workers of a job stop after the same agreed step."""

import json
from collections.abc import Mapping

import pytest

from sonde.errors import StoppedJobError
from sonde.hook.failure import describe
from sonde.hook.session import Session
from sonde.records.job import ExitReason
from sonde.records.request import Request, RequestKind
from sonde.store.control import LAST_STEP, replies_to, send_request
from tests.fakes.eventually import eventually
from tests.fakes.plain_loop import PlainLoop
from tests.fakes.session import watched


def send(session: Session, kind: RequestKind, arguments: Mapping[str, str]) -> Request:
    return send_request(session.store.backend, session.clock, kind, dict(arguments))


def reply_to(session: Session, request: Request) -> str:
    assert eventually(lambda: replies_to(session.store.backend, request))
    return replies_to(session.store.backend, request)["worker-0"].message


@pytest.mark.parametrize("closely", [True, False])
def test_worker_stops_between_two_steps(closely: bool) -> None:
    with watched(closely=closely) as recorded:
        loop = PlainLoop()
        loop.train(20)
        session = recorded.session
        request = send(session, RequestKind.STOP, {LAST_STEP: "0", "by": "LossSpike: too much"})
        reply_to(session, request)
        with pytest.raises(StoppedJobError) as stopped:
            loop.train(1000)
        step = session.steps.counts["train"] - 1

    assert str(stopped.value) == f"sonde: job stopped after step {step}: LossSpike: too much"
    failure = describe(stopped.value, 0, 0)
    assert (failure.reason, failure.message) == (ExitReason.STOPPED, "LossSpike: too much")
    assert replies_to(session.store.backend, request)["worker-0"].message.endswith(
        f"after step {step}"
    )
    assert max(recorded.scalars("loss")) == step


@pytest.mark.parametrize("closely", [True, False])
def test_each_of_several_workers_stops_after_the_agreed_step(
    closely: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.hook.stopping._RENDEZVOUS_SECONDS", 0.0)
    with watched(closely=closely) as recorded:
        loop = PlainLoop()
        loop.train(5)
        session = recorded.session
        session.requests.last_step.count_workers = lambda: 2
        progress = json.loads(reply_to(session, send(session, RequestKind.PLACE, {})))
        last = progress["step"] + 300
        reply_to(session, send(session, RequestKind.STOP, {LAST_STEP: str(last)}))
        # a second request changes nothing, since some workers might receive it too late
        reply_to(session, send(session, RequestKind.STOP, {LAST_STEP: str(last + 50)}))
        with pytest.raises(StoppedJobError):
            loop.train(1000)

    assert progress["workers"] == 2
    assert progress["seconds"] > 0
    assert max(recorded.scalars("loss")) == last


def test_worker_reports_its_progress_while_hooks_are_deferred() -> None:
    with watched(closely=False) as recorded:
        loop = PlainLoop()
        loop.train(50)
        session = recorded.session
        request = send(session, RequestKind.PLACE, {})
        steps = 50
        while not replies_to(session.store.backend, request):
            loop.train(1)
            steps += 1
        progress = json.loads(reply_to(session, request))["step"]

    assert steps - 200 < progress <= steps
