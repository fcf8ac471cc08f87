"""The stop action."""

import json
import threading
from pathlib import Path

import pytest

from sonde.actions.stop import Stop
from sonde.records.finding import Severity
from sonde.records.request import Request, RequestKind
from sonde.store.control import Inbox, worker_name
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.occasions import action, occasion


class AnsweringClock(FakeClock):
    """A clock that lets workers reply with their position during each wait."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[int, dict[str, float]] = {}
        self.inboxes: dict[int, Inbox] = {}

    def wait(self, event: threading.Event, seconds: float) -> bool:
        for rank, index in self.places.items():
            for request in self.inboxes[rank].new_requests():
                self.inboxes[rank].reply(request, self, is_done=True, message=json.dumps(index))
        return super().wait(event, seconds)


def stopped(folder: Path, steps: dict[int, dict[str, float]], settings: str = "") -> Request:
    clock = AnsweringClock()
    job = FakeJob(clock=clock)
    node = Inbox(job.backend, job.node)
    clock.inboxes = {rank: Inbox(job.backend, worker_name(rank)) for rank in steps}
    clock.places = steps
    action(folder, f'kind = "stop"\n{settings}').perform(occasion(job))
    requests, request = node.new_requests()
    assert (requests.kind, request.kind) == (RequestKind.PLACE, RequestKind.STOP)
    return request


def test_a_single_worker_stops_after_its_current_step(tmp_path: Path) -> None:
    request = stopped(tmp_path, {0: {"step": 100, "seconds": 0.1, "workers": 1}})
    assert request.arguments == {
        "by": "LossSpike: The loss jumped to 17",
        "last_step": "0",
        "patience_seconds": "60",
        "grace_seconds": "10",
    }


def test_several_workers_stop_after_a_step_that_none_has_reached(
    tmp_path: Path,
) -> None:
    steps = {
        0: {"step": 100, "seconds": 0.1, "workers": 2},
        1: {"step": 101, "seconds": 0.2, "workers": 2},
    }
    assert 101 + 30 <= int(stopped(tmp_path, steps).arguments["last_step"]) <= 101 + 40


def test_workers_with_long_steps_stop_two_steps_later(tmp_path: Path) -> None:
    steps = {rank: {"step": 7, "seconds": 60.0, "workers": 2} for rank in range(2)}
    assert stopped(tmp_path, steps).arguments["last_step"] == "9"


@pytest.mark.parametrize("steps", [{}, {0: {"step": 100, "seconds": 0.1, "workers": 2}}])
def test_the_job_stops_at_once_unless_all_workers_reply(
    tmp_path: Path, steps: dict[int, dict[str, float]]
) -> None:
    request = stopped(tmp_path, steps, 'grace = "3s"')
    assert request.arguments.keys() == {"by", "grace_seconds"}
    assert request.arguments["grace_seconds"] == "3"


def test_only_critical_findings_stop_a_job_by_default(tmp_path: Path) -> None:
    default, set_ = action(tmp_path, 'kind = "stop"'), 'kind = "stop"\nmin_severity = "warning"'
    assert isinstance(default, Stop)
    assert default.min_severity is Severity.CRITICAL
    assert action(tmp_path, set_).min_severity is Severity.WARNING


def test_a_trial_run_does_not_stop_the_job(tmp_path: Path) -> None:
    job = FakeJob()
    inbox = Inbox(job.backend, job.node)
    message = action(tmp_path, 'kind = "stop"').trial(occasion(job))
    assert message.startswith("not stopped")
    assert inbox.new_requests() == []


def test_a_job_of_another_name_is_not_stopped(tmp_path: Path) -> None:
    job = FakeJob()
    stop = action(tmp_path, 'kind = "stop"\njob_prefix = "nightly-"')
    assert "does not start with 'nightly-'" in stop.perform(occasion(job))
    assert Inbox(job.backend, job.node).new_requests() == []
