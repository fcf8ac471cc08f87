"""The profile action."""

from pathlib import Path

import pytest

from sonde.errors import UsageError
from sonde.records.request import Request, RequestKind
from sonde.store.control import Inbox
from tests.fakes.job import FakeJob
from tests.fakes.occasions import action, occasion


def sent_requests(folder: Path, settings: str = "", **about: object) -> Request:
    job = FakeJob()
    inbox = Inbox(job.backend, "worker-3")
    action(folder, f'kind = "profile"\n{settings}').perform(occasion(job, **about))
    (request,) = inbox.new_requests()
    assert request.kind is RequestKind.PROFILE
    return request


def test_only_the_worker_of_a_finding_is_profiled(tmp_path: Path) -> None:
    settings = 'kinds = ["operators"]\nsteps = 2'
    assert sent_requests(tmp_path, settings, worker=3, node="node-a").arguments == {
        "kinds": "operators",
        "steps": "2",
        "by": "LossSpike",
        "workers": "3",
    }


def test_a_finding_without_a_worker_profiles_its_node_or_all_workers(tmp_path: Path) -> None:
    assert sent_requests(tmp_path, node="node-a").arguments["nodes"] == "node-a"
    assert sent_requests(tmp_path).arguments.keys() == {"kinds", "steps", "by"}


def test_a_trial_run_sends_no_request(tmp_path: Path) -> None:
    job = FakeJob()
    inbox = Inbox(job.backend, "worker-0")
    message = action(tmp_path, 'kind = "profile"').trial(occasion(job))
    assert message == "would request a profile (operators, python) of 3 steps from all workers"
    assert inbox.new_requests() == []


def test_kinds_are_checked_before_the_job_starts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'colours' is invalid\. Choose one of: operators"):
        action(tmp_path, 'kind = "profile"\nkinds = ["colours"]')
