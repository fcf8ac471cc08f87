"""The webhook action with a real server."""

import json
from pathlib import Path

import pytest

from sonde.actions.webhook import signature
from sonde.clock import NANOSECONDS
from sonde.errors import ActionError, UsageError
from tests.fakes.clock import START_NS
from tests.fakes.occasions import action, occasion
from tests.fakes.web_server import WebServer


def hook(url: str, more: str = "") -> str:
    return f'kind = "webhook"\nurl = "{url}"\n{more}'


def test_a_webhook_gets_the_complete_finding(tmp_path: Path) -> None:
    with WebServer() as server:
        spike = occasion(worker=3, message="mean is nan", subject="w")
        message = action(tmp_path, hook(f"{server.url}/hook")).perform(spike)

    (request,) = server.received
    document = json.loads(request.body)
    assert message == "127.0.0.1 returned HTTP 200"
    assert request.path == "/hook"
    assert request.headers["Content-Type"] == "application/json"
    assert {name: document[name] for name in ("event", "trial", "job", "rule", "severity")} == {
        "event": "finding",
        "trial": False,
        "job": "resnet",
        "rule": "LossSpike",
        "severity": "critical",
    }
    assert (document["worker"], document["step"]) == (3, [210, 240])
    assert document["evidence"] == {"loss": 17.0}


def test_a_signature_can_be_verified_with_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "between us")
    monkeypatch.setenv("HOOK_TOKEN", "let me in")
    more = 'secret_env = "HOOK_SECRET"\ntoken_env = "HOOK_TOKEN"'
    with WebServer() as server:
        action(tmp_path, hook(server.url, more)).perform(occasion())

    (request,) = server.received
    expected = signature("between us", START_NS // NANOSECONDS, request.body)
    assert request.headers["X-Sonde-Signature"] == expected
    assert expected != signature("between them", START_NS // NANOSECONDS, request.body)
    assert request.headers["Authorization"] == "Bearer let me in"


def test_messages_about_the_same_episode_have_the_same_header(tmp_path: Path) -> None:
    with WebServer() as server:
        spike, overfit = occasion(), occasion(rule="Overfit")
        send = action(tmp_path, hook(server.url))
        for episode in (spike, spike, overfit):
            send.perform(episode)

    first, second, third = (request.headers["X-Sonde-Episode"] for request in server.received)
    assert first == second != third


@pytest.mark.parametrize(
    ("shape", "text_of"),
    [
        ("slack", lambda body: body["text"]),
        ("discord", lambda body: body["content"]),
        ("teams", lambda body: body["attachments"][0]["content"]["body"][1]["text"]),
    ],
)
def test_mentions_in_chat_messages_are_disabled(
    tmp_path: Path, shape: str, text_of: "object"
) -> None:
    with WebServer() as server:
        send = action(tmp_path, hook(server.url, f'shape = "{shape}"'))
        send.perform(occasion(message="<!channel> @everyone lost & found"))

    assert callable(text_of)
    body = json.loads(server.received[0].body)
    message = text_of(body)
    assert "LossSpike in job resnet" in message
    assert shape != "slack" or "&lt;!channel&gt; @everyone lost &amp; found" in message
    assert shape != "discord" or body["allowed_mentions"] == {"parse": []}


@pytest.mark.parametrize(
    ("code", "is_final"), [(500, False), (503, False), (429, False), (404, True), (302, True)]
)
def test_server_errors_allow_a_retry_and_refusals_do_not(
    tmp_path: Path, code: int, is_final: bool
) -> None:
    with WebServer([code], {"Retry-After": "7", "Location": "/elsewhere"}) as server:
        send = action(tmp_path, hook(server.url))
        with pytest.raises(ActionError, match=f"127.0.0.1 returned HTTP {code}") as failed:
            send.perform(occasion())
        send.perform(occasion())

    assert failed.value.is_final is is_final
    assert failed.value.after_seconds == 7.0
    assert len(server.received) == 2  # redirects are not followed


def test_a_secret_url_never_appears_in_messages(tmp_path: Path) -> None:
    with WebServer() as server:
        (tmp_path / "address").write_text(f"{server.url}/services/T0/B0/hidden\n")
        send = action(tmp_path, 'kind = "webhook"\nurl_file = "address"')
        message = send.perform(occasion())
    with pytest.raises(ActionError) as failed:
        send.perform(occasion())

    assert server.received[0].path == "/services/T0/B0/hidden"
    for text in (message, str(failed.value), repr(send)):
        assert "hidden" not in text


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("", "requires url: URL"),
        ('url = "ftp://x"', "is not a valid URL"),
        ('url = "https://"', "is not a valid URL"),
        ('url = "http://me:word@x/"', "contains a password"),
        ('url = "http://x"\nshape = "fax"', "Choose one of: json, slack, teams, discord"),
        ('url_env = "NOT_SET"', "the environment variable is not set"),
        ('url = "http://x"\nurl_env = "HOME"', "are mutually exclusive"),
        ('url_env = "HOME"', "is not a valid URL"),
    ],
)
def test_misconfiguration_is_an_error_before_the_job_starts(
    tmp_path: Path, settings: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        action(tmp_path, f'kind = "webhook"\n{settings}')


def test_nan_is_a_string_in_json(tmp_path: Path) -> None:
    with WebServer() as server:
        spike = occasion()
        evidence = dict(spike.episode.finding.evidence)
        evidence["loss"] = float("nan")
        object.__setattr__(spike.episode.finding, "evidence", evidence)
        action(tmp_path, hook(server.url)).perform(spike)
    assert json.loads(server.received[0].body)["evidence"] == {"loss": "nan"}
