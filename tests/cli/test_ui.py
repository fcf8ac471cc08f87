"""`sonde ui` and `sonde run --ui`: addresses, tokens and errors."""

import importlib
import os
import re
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pytest

from sonde.cli._main import run_command_line
from sonde.cli.dashboard import process, server
from sonde.errors import MissingExtraError, UsageError
from tests.fakes.job import FakeJob


def test_port_in_use_is_reported_with_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = str(used.getsockname()[1])
        assert run_command_line(["ui", "--store", str(tmp_path), "--port", port]) == 2
    assert "Try another --port" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536", "many"])
def test_invalid_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_command_line(["ui", "--port", port])
    assert "Use 0 to 65535" in capsys.readouterr().err


def test_job_is_not_accepted_as_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FakeJob(str(tmp_path / "job")).end()
    assert run_command_line(["ui", "--store", str(tmp_path / "job"), "--port", "0"]) == 1
    assert "is a job, not a store. Its store is" in capsys.readouterr().err


def test_missing_store_is_noted_and_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sonde.cli.ui.listen", MagicMock())
    monkeypatch.setattr("sonde.cli.ui.open_server", lambda *_, **__: Mock(port=1))
    for store, exists in ((tmp_path / "later", False), (tmp_path, True)):
        assert run_command_line(["ui", "--store", str(store), "--port", "0"]) == 0
        assert ("does not exist yet" in capsys.readouterr().out) is not exists


def test_address_of_another_machine_is_refused() -> None:
    with pytest.raises(UsageError, match="Cannot listen on"):
        server.listen("203.0.113.1", 0)
    with pytest.raises(UsageError, match="not a valid address"):
        server.listen("gpu..box", 0)
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        with pytest.raises(
            UsageError, match=rf"{port}: address already in use\. Try another --port"
        ):
            server.listen("127.0.0.1", port)


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """The output of `sonde ui` with some options."""
    monkeypatch.setattr("sonde.web.server.DashboardServer.serve", lambda _self: None)
    monkeypatch.setattr("sonde.web.server.DashboardServer.read_ahead", lambda _self: None)

    def run(*words: str) -> str:
        assert run_command_line(["ui", "--store", str(tmp_path), *words]) == 0
        return capsys.readouterr().out

    return run


def token_in(text: str) -> str:
    result = re.search(r"\?token=(\S+)", text)
    return result[1] if result else ""


def test_local_link_contains_a_persistent_token(
    printed: Callable[..., str],
) -> None:
    first, second = printed("--port", "0"), printed("--port", "0", "--host", "localhost")
    assert re.search(r"http://127\.0\.0\.1:\d+/\?token=\S{32,}", first)
    assert token_in(first) == token_in(second)


def test_link_names_the_address_it_listens_on_and_not_a_name_of_two(
    printed: Callable[..., str],
) -> None:
    address = socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)[0][4][0]
    link = printed("--port", "0", "--host", "localhost")
    assert f"//{address}:" in link or f"//[{address}]:" in link
    assert "//localhost" not in link


def test_network_link_contains_a_new_token_per_run(printed: Callable[..., str]) -> None:
    first, second = (printed("--port", "0", "--host", "0.0.0.0") for _ in range(2))
    assert "0.0.0.0" not in first
    assert len({token_in(first), token_in(second), token_in(printed("--port", "0"))}) == 3


def test_unprotected_dashboard_is_allowed_only_on_loopback(
    printed: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "token" not in printed("--port", "0", "--no-token")
    assert run_command_line(["ui", "--no-token", "--host", "0.0.0.0"]) == 2
    assert "anyone on the network" in capsys.readouterr().err


def test_only_its_owner_can_connect_to_a_unix_socket(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    path = tmp_path / "sonde.sock"
    before = os.umask(0)
    try:
        with server.listen_on_path(path):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            with pytest.raises(UsageError, match="address already in use"):
                server.listen_on_path(path)
    finally:
        os.umask(before)
    # the socket of a killed server is replaced, and removed at the end
    assert str(path) in printed("--socket", str(path))
    assert not path.exists()


def test_a_file_is_not_replaced_by_a_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    words = ["ui", "--store", str(tmp_path), "--socket"]
    assert run_command_line([*words, str(tmp_path / "notes.txt")]) == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert run_command_line([*words, str(tmp_path / "gone" / "s")]) == 2
    assert run_command_line([*words, str(tmp_path / ("x" * 200))]) == 2
    assert run_command_line([*words, str(tmp_path / "s"), "--port", "0"]) == 2
    assert "--socket cannot be combined" in capsys.readouterr().err


def test_browser_is_opened_without_a_token_in_its_arguments(
    printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, str, int]] = []

    def note(link: str) -> None:
        page = Path(link.removeprefix("file://"))
        opened.append((link, page.read_text(), page.parent.stat().st_mode & 0o077))

    monkeypatch.setattr("webbrowser.open", note)
    token = token_in(printed("--port", "0", "--open"))
    ((link, page, rest),) = opened
    assert token not in link
    assert token in page
    assert rest == 0
    assert not Path(link.removeprefix("file://")).exists()


def test_missing_dashboard_packages_are_reported_before_the_job_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "find_spec", lambda name: None if name == "starlette" else name)
    monkeypatch.setenv("SONDE_STORE", str(tmp_path))
    assert run_command_line(["run", "--ui", "--name", "job", "true"]) == 1
    assert "--ui requires starlette" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(MissingExtraError):
        process.check_installed()


def test_dashboard_failure_does_not_affect_the_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", fail)
    message: list[str] = []
    done: list[str] = []
    with process.dashboard_process("/nowhere", message.append):
        done.append("the job")
    assert done == ["the job"]
    assert message == ["Cannot start the dashboard: resource temporarily unavailable"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_dashboard_after_the_job_stops_on_a_signal(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """After the end of a job its launcher ignores signals, but the dashboard must stop on one."""

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

    before = {
        entry: signal.getsignal(entry) for entry in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    monkeypatch.setattr("subprocess.Popen", Process)
    monkeypatch.setattr(process, "_is_terminal", lambda: True)
    message: list[str] = []
    try:
        with process.dashboard_process("/nowhere", message.append):
            for entry in before:
                signal.signal(entry, signal.SIG_IGN)
    finally:
        for entry, handler in before.items():
            signal.signal(entry, handler)
    assert "until Ctrl-C" in message[-1]


def test_unknown_rule_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[str] = []

    def load_rule(name: str) -> None:
        requested.append(name)
        raise UsageError("There is none.")

    importlib.import_module("sonde.cli.rules")  # would keep the replacement if imported later
    monkeypatch.setattr("sonde.rules.load_rule", load_rule)
    assert [server.rule_page("BroughtWithAJob") for _ in range(3)] == [None] * 3
    assert requested == ["BroughtWithAJob"]
