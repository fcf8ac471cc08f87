import pytest

from sonde.cli import _requests
from sonde.clock import SystemClock
from sonde.records.request import RequestKind
from tests.fakes.job import FakeJob


def test_waiting_for_replies_is_announced_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_requests, "_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(_requests, "_ANNOUNCE_SECONDS", 0.0)
    job = FakeJob()
    clock = SystemClock()
    assert not _requests._replies(job.backend, clock, RequestKind.SET, {}, {"b", "a"})
    printed = capsys.readouterr()
    assert printed.err.count("Waiting for a, b, up to ") == 1
    assert printed.out == ""
