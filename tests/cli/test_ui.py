"""`sonde ui` and `sonde run --ui`: what is said when they cannot be, and where they listen."""

import signal
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from sonde.cli import _beside, _dashboard
from sonde.cli._main import run_command_line
from sonde.errors import MissingExtraError, UsageError
from tests.fakes.job import FakeJob


def test_a_port_that_is_taken_is_said_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run_command_line(["ui", "--store", str(tmp_path), "--port", port]) == 2
    assert "Try another --port" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536", "many"])
def test_what_is_no_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_command_line(["ui", "--port", port])
    assert "between 0 and 65535" in capsys.readouterr().err


def test_a_job_is_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FakeJob(str(tmp_path / "job")).end()
    assert run_command_line(["ui", "--store", str(tmp_path / "job"), "--port", "0"]) == 1
    assert "is a job; its store is" in capsys.readouterr().err


def test_a_store_that_is_not_there_yet_is_waited_for_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = Mock(), "http://127.0.0.1:1/"
    monkeypatch.setattr("sonde.cli.ui.listen", Mock())
    monkeypatch.setattr("sonde.cli.ui.open_server", lambda *_: opened)
    for store, is_there in ((tmp_path / "later", False), (tmp_path, True)):
        assert run_command_line(["ui", "--store", str(store), "--port", "0"]) == 0
        assert ("does not exist yet" in capsys.readouterr().out) is not is_there


def test_an_address_of_another_machine_is_said() -> None:
    with pytest.raises(UsageError, match="Cannot listen on"):
        _dashboard.listen("203.0.113.1", 0)
    with pytest.raises(UsageError, match="no address"):
        _dashboard.listen("gpu..box", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            UsageError, match=rf"{port}: address already in use\. Try another --port"
        ):
            _dashboard.listen("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "has_token"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)]
)
def test_only_an_address_that_others_can_reach_holds_a_token(
    tmp_path: Path, host: str, has_token: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        _, address = _dashboard.open_server(str(tmp_path), listening, host)
        assert f":{listening.getsockname()[1]}/" in address
    assert ("?token=" in address) is has_token
    assert "0.0.0.0" not in address


def test_without_its_packages_a_job_is_not_begun_and_it_is_said_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_beside, "find_spec", lambda name: None if name == "starlette" else name)
    monkeypatch.setenv("SONDE_STORE", str(tmp_path))
    assert run_command_line(["run", "--ui", "--name", "job", "true"]) == 1
    assert "--ui needs starlette, which is not installed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(MissingExtraError):
        _beside.check_installed()


def test_a_dashboard_that_cannot_be_started_is_no_matter_to_the_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", fail)
    said: list[str] = []
    done: list[str] = []
    with _beside.dashboard_beside("/nowhere", said.append):
        done.append("the job")
    assert done == ["the job"]
    assert said == ["no dashboard: resource temporarily unavailable"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_dashboard_that_stays_after_the_job_goes_when_it_is_told_to(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """The end of a job has made us deaf to signals; nobody else would end what stays."""

    class Process:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def poll(self) -> int | None:
            return None

        def wait(self, timeout: float | None = None) -> int:
            if timeout is None:
                signal.raise_signal(number)
                pytest.fail("nobody heard it")
            return 0

    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr("subprocess.Popen", Process)
    monkeypatch.setattr(_beside, "_is_terminal", lambda: True)
    said: list[str] = []
    try:
        with _beside.dashboard_beside("/nowhere", said.append):
            for one in before:
                signal.signal(one, signal.SIG_IGN)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert "until Ctrl-C" in said[-1]


def test_a_rule_that_nobody_knows_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def load_rule(name: str) -> None:
        asked.append(name)
        raise UsageError("There is none.")

    monkeypatch.setattr("sonde.rules.load_rule", load_rule)
    assert [_dashboard._rule_page("BroughtWithAJob") for _ in range(3)] == [None] * 3
    assert asked == ["BroughtWithAJob"]
