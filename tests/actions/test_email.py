"""The email action with a real server."""

from pathlib import Path

import pytest

from sonde.errors import ActionError, UsageError
from tests.fakes.mail_server import PASSWORD, USER, MailServer, write_certificate
from tests.fakes.occasions import action, occasion


def mailing(folder: Path, server: MailServer, more: str = "", to: str = '"me@example.org"') -> str:
    return f'kind = "email"\nto = {to}\nsmtp = "{server.url}"\n{more}'


def with_login(folder: Path, password: str = PASSWORD) -> str:
    (folder / "password").write_text(f"{password}\n")
    return f'user = "{USER}"\npassword_file = "password"\nca_file = "server.pem"\n'


def test_a_mail_has_the_finding_and_the_advice(tmp_path: Path) -> None:
    with MailServer() as server:
        settings = mailing(tmp_path, server, 'from = "Sonde <probe@example.org>"')
        text = action(tmp_path, settings).perform(occasion(worker=3))

    (envelope,) = server.envelopes
    message = envelope.message
    assert text == "sent email to me@example.org"
    assert envelope.recipients == ["me@example.org"]
    assert message["Subject"] == "[sonde] resnet: LossSpike (critical)"
    assert message["From"] == "Sonde <probe@example.org>"
    assert message["Date"]
    content = message.get_content()
    for chunk in ("The loss jumped to 17.", "worker 3, steps 210–240", "Lower the learning rate."):
        assert chunk in content


@pytest.mark.parametrize("is_tls_at_once", [False, True])
def test_a_login_is_encrypted(tmp_path: Path, is_tls_at_once: bool) -> None:
    certificate = write_certificate(tmp_path)
    with MailServer(certificate, is_tls_at_once) as server:
        action(tmp_path, mailing(tmp_path, server, with_login(tmp_path))).perform(occasion())

    (envelope,) = server.envelopes
    assert (envelope.is_encrypted, envelope.user) == (True, USER)


def test_a_password_may_be_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    certificate = write_certificate(tmp_path)
    login = f'user = "{USER}"\npassword_env = "MAIL_PASSWORD"\nca_file = "server.pem"'
    with MailServer(certificate) as server:
        mail = action(tmp_path, mailing(tmp_path, server, login))
        mail.perform(occasion())

    assert len(server.envelopes) == 1
    assert PASSWORD not in repr(mail)


def test_a_wrong_password_is_not_retried(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path)
    with MailServer(certificate) as server:
        mail = action(tmp_path, mailing(tmp_path, server, with_login(tmp_path, "guess")))
        with pytest.raises(ActionError, match="535 who are you") as failed:
            mail.perform(occasion())

    assert failed.value.is_final
    assert "guess" not in str(failed.value)


def test_a_password_is_never_sent_in_the_clear(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    with MailServer() as server:
        mail = action(tmp_path, mailing(tmp_path, server, with_login(tmp_path)))
        with pytest.raises(ActionError, match="does not support STARTTLS"):
            mail.perform(occasion())

    assert server.logins == []


def test_an_unknown_certificate_is_not_trusted(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path)
    login = with_login(tmp_path).replace('ca_file = "server.pem"\n', "")
    with MailServer(certificate) as server:
        mail = action(tmp_path, mailing(tmp_path, server, login))
        with pytest.raises(ActionError, match="certificate") as failed:
            mail.perform(occasion())

    assert failed.value.is_final
    assert server.logins == []


@pytest.mark.parametrize(("answer", "is_final"), [("451 later", False), ("554 never", True)])
def test_only_temporary_smtp_errors_allow_a_retry(
    tmp_path: Path, answer: str, is_final: bool
) -> None:
    with MailServer(answers_to_data=[answer]) as server:
        mail = action(tmp_path, mailing(tmp_path, server))
        with pytest.raises(ActionError, match=answer) as failed:
            mail.perform(occasion())
        mail.perform(occasion())

    assert failed.value.is_final is is_final
    assert len(server.envelopes) == 1


def test_an_unreachable_server_allows_a_retry(tmp_path: Path) -> None:
    with MailServer() as server:
        settings = mailing(tmp_path, server)
    with pytest.raises(ActionError, match="cannot reach") as failed:
        action(tmp_path, settings).perform(occasion())
    assert not failed.value.is_final


def test_refused_recipients_are_named_and_others_get_the_mail(tmp_path: Path) -> None:
    with MailServer(refused=("gone@example.org",)) as server:
        to = '["gone@example.org", "Me <me@example.org>"]'
        message = action(tmp_path, mailing(tmp_path, server, to=to)).perform(occasion())
        nobody = action(tmp_path, mailing(tmp_path, server, to='"gone@example.org"'))
        with pytest.raises(ActionError, match="refused all recipients: 550") as failed:
            nobody.perform(occasion())

    assert message == "sent email to me@example.org; refused: gone@example.org"
    assert failed.value.is_final


@pytest.mark.parametrize(
    "address",
    [
        *("me@example.org", "First.Last+Tag@Example.ORG", "o'brien@example.org", "root@gpu-box"),
        *('"odd name"@example.org', "user@[192.0.2.1]", "jörg@bücher.example"),
    ],
)
def test_any_valid_address_is_accepted(tmp_path: Path, address: str) -> None:
    with MailServer() as server:
        action(tmp_path, mailing(tmp_path, server, to=f"'''{address}'''")).perform(occasion())
    (envelope,) = server.envelopes
    assert envelope.recipients == [address.replace("bücher", "xn--bcher-kva")]


@pytest.mark.parametrize("address", ["me", "@example.org", "a@b, c@d", "a b@c.d", "a@b..c", ""])
def test_an_invalid_address_is_an_error_before_the_job_starts(tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError, match="is not an email address") as error:
        action(tmp_path, f'kind = "email"\nto = "{address}"')
    assert f"{tmp_path}/sonde.toml: [actions.it] to" in str(error.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("", "requires to: recipients"),
        ('to = "a@b"\nsmtp = "http://x"', "is not a mail server"),
        ('to = "a@b"\nsmtp = "smtp://me:word@x"', "contains a password"),
        ('to = "a@b"\nuser = "me"', "a login requires user and password_env or password_file"),
        (
            'to = "a@b"\nuser = "me"\npassword_env = "NOT_SET"',
            "the environment variable is not set",
        ),
        ('to = "a@b"\nuser = "me"\npassword_file = "nowhere"', "No such file"),
        ('to = "a@b"\nuser = "me"\npassword = "word"', "unknown key password"),
        ('to = "a@b"\nca_file = "nowhere"', "ca_file"),
        ('to = "a@b"\npassword_env = "A"\npassword_file = "b"', "are mutually exclusive"),
        ('to = "a@b"\nmin_severity = "awful"', "Choose one of: info, warning, critical"),
        ('to = "a@b"\ncool_down = 5', "must be a string in quotes"),
    ],
)
def test_misconfiguration_is_an_error_before_the_job_starts(
    tmp_path: Path, settings: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        action(tmp_path, f'kind = "email"\n{settings}')


def test_hostile_names_do_not_become_headers(tmp_path: Path) -> None:
    with MailServer() as server:
        mail = action(tmp_path, mailing(tmp_path, server))
        mail.perform(occasion(rule="A\r\nBcc: you@example.org", message="x\r\n.\r\ny"))
    (envelope,) = server.envelopes
    assert envelope.message["Bcc"] is None
    assert envelope.recipients == ["me@example.org"]
