"""The SMS action, through a provider or a mail gateway."""

import base64
import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from sonde.errors import ActionError, UsageError
from tests.fakes.mail_server import MailServer
from tests.fakes.occasions import action, occasion
from tests.fakes.web_server import WebServer

NUMBER = "+4915112345678"


def sms(more: str, to: str = f'"{NUMBER}"') -> str:
    return f'kind = "sms"\nto = {to}\n{more}'


def test_a_provider_gets_number_and_text(tmp_path: Path) -> None:
    with WebServer() as server:
        message = action(tmp_path, sms(f'url = "{server.url}"')).perform(occasion())
    assert message == f"sent text message to {NUMBER}"
    assert json.loads(server.received[0].body) == {
        "to": NUMBER,
        "text": "sonde: resnet: LossSpike (critical): The loss jumped to 17.",
    }


def test_a_provider_can_get_form_fields_and_a_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMS_PASSWORD", "word")
    more = """
shape = "form"
user = "account"
password_env = "SMS_PASSWORD"
fields = {To = "{to}", From = "+15550001111", Body = "{text}"}
"""
    with WebServer() as server:
        settings = sms(f'url = "{server.url}/Messages.json"\n{more}')
        action(tmp_path, settings).perform(occasion(message="x" * 999))

    (request,) = server.received
    fields = parse_qs(request.body.decode())
    assert (fields["To"], fields["From"]) == ([NUMBER], ["+15550001111"])
    assert len(fields["Body"][0]) == 300
    login = base64.b64encode(b"account:word").decode()
    assert request.headers["Authorization"] == f"Basic {login}"


def test_messages_can_be_sent_through_a_mail_gateway(tmp_path: Path) -> None:
    with MailServer() as server:
        more = f'gateway = "{{number}}@sms.example.org"\nsmtp = "{server.url}"'
        action(tmp_path, sms(more)).perform(occasion())
    (envelope,) = server.envelopes
    assert envelope.recipients == ["4915112345678@sms.example.org"]


def test_a_partly_sent_message_is_not_retried_but_an_unsent_one_may_be(tmp_path: Path) -> None:
    with WebServer([200, 500, 500]) as server:
        send = action(tmp_path, sms(f'url = "{server.url}"', f'["{NUMBER}", "+15550001111"]'))
        with pytest.raises(ActionError, match=r"sent to \+49\d+, not to \+1555\d+: .* 500") as half:
            send.perform(occasion())
        with pytest.raises(ActionError) as none:
            send.perform(occasion())
    assert (half.value.is_final, none.value.is_final) == (True, False)


@pytest.mark.parametrize("number", ["015112345678", "+0151", "+49 151 123", "+1", "me", ""])
def test_numbers_are_checked_before_the_job_starts(tmp_path: Path, number: str) -> None:
    with pytest.raises(UsageError, match="is not a phone number"):
        action(tmp_path, sms('url = "http://x"', f'"{number}"'))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "set either url or gateway"),
        ('url = "http://x"\ngateway = "{number}@y"', "set either url or gateway"),
        ('gateway = "me@example.org"', "must contain {number}"),
        ('url = "http://x"\nfields = "to"', "must be a table"),
    ],
)
def test_misconfiguration_is_an_error_before_the_job_starts(
    tmp_path: Path, more: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        action(tmp_path, sms(more))
