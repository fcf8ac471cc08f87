"""One mail through a mail server, and what its answer means for another attempt."""

import ipaddress
import platform
import smtplib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.errors import MessageError, NonASCIILocalPartDefect
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTPUTF8
from email.utils import formatdate, make_msgid
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from sonde.actions._action import Action, key, secret_keys
from sonde.clock import NANOSECONDS, Clock
from sonde.errors import ActionError, UsageError
from sonde.settings import Key, Secret
from sonde.settings.checks import file_name, text

_SECONDS = 10.0
_PERMANENT = 500
_USUAL_PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail goes first."""

    host: str
    port: int
    is_tls: bool  # from the first byte on

    @property
    def is_here(self) -> bool:
        """Whether nothing leaves this machine on the way there."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def mail_server(value: object, where: str) -> MailServer:
    """A server from an address like smtp://mail.example.org:587."""
    url = text(value, where)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in _USUAL_PORTS or parts.path not in ("", "/"):
        raise UsageError(
            f"{where} is no mail server. Write it like smtp://localhost:25 or smtps://host:465"
        )
    if parts.username or parts.password:
        raise UsageError(f"{where} holds a login: use user, and password_env or password_file.")
    return MailServer(host, port or _USUAL_PORTS[parts.scheme], parts.scheme == "smtps")


def mail_address(value: object, where: str) -> Address:
    """Any address that mail can go to, with or without a name before it."""
    given = text(value, where)
    try:
        header: Any = SMTPUTF8.header_factory("To", given)
        (found,) = header.addresses
        domain = str(found.domain)
        domain = domain if domain.isascii() else domain.encode("idna").decode()
        address = Address(str(found.display_name), str(found.username), domain)
        defects = [one for one in header.defects if not isinstance(one, NonASCIILocalPartDefect)]
        is_good = bool(not defects and address.username and domain)
    except (ValueError, IndexError, MessageError):
        is_good = False
    if not is_good:
        raise UsageError(f"{where} = {given!r} is no mail address. Write it like me@example.org")
    return address


def mail_addresses(value: object, where: str) -> tuple[Address, ...]:
    """One address or a list of them."""
    several = value if isinstance(value, list | tuple) else [value]
    if not several:
        raise UsageError(f"{where} = [] names nobody.")
    return tuple(mail_address(one, where) for one in several)


class MailingAction(Action):
    """What actions that send mail have in common."""

    mail_keys: ClassVar[tuple[Key, ...]] = (
        key(
            *("smtp", mail_server, '"smtp://localhost:25"'),
            "the mail server: `smtp://…`, encrypted where the server can, always so with a login; "
            "`smtps://…`: encrypted from the first byte",
        ),
        key("user", text, "", "the login at the mail server"),
        *secret_keys("password", "its password"),
        key("from", mail_address, "sonde@ this machine", "the sender", "sender"),
        key("ca_file", file_name, "", "the certificate that the server's is checked with"),
    )

    smtp: MailServer = MailServer("localhost", 25, is_tls=False)
    user: str | None = None
    password: Secret | None = None
    sender: Address | None = None
    ca_file: Path | None = None

    def ready(self) -> None:
        """A login has two parts, and a certificate can be read."""
        super().ready()
        if (self.user is None) != (self.password is None):
            raise UsageError(f"{self.name}: a login needs user, and password_env or password_file.")
        self._encryption()

    def mail(self, clock: Clock, to: Sequence[Address], subject: str, content: str) -> str:
        """Sends a mail; what was done.

        Raises:
            ActionError: The server did not take it.
        """
        message = EmailMessage(policy=SMTPUTF8)
        message["From"] = self.sender or Address("sonde", "sonde", _own_domain())
        message["To"] = to
        message["Subject"] = subject
        message["Date"] = formatdate(clock.now_ns() / NANOSECONDS)
        message["Message-ID"] = make_msgid("sonde", domain=_own_domain())
        message.set_content(content)
        try:
            refused = self._hand_over(message)
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            raise ActionError(
                f"{self.smtp.host} takes mail to none of them: {', '.join(map(str, codes))}",
                is_final=min(codes) >= _PERMANENT,
            ) from None
        except smtplib.SMTPResponseException as error:
            said = f"{self.smtp.host} answered {error.smtp_code} {_readable(error.smtp_error)}"
            raise ActionError(said, is_final=error.smtp_code >= _PERMANENT) from None
        except (smtplib.SMTPNotSupportedError, ssl.SSLError) as error:
            raise ActionError(f"{self.smtp.host}: {error}", is_final=True) from None
        except (smtplib.SMTPException, OSError) as error:
            raise ActionError(f"{self.smtp.host} cannot be reached: {error}") from None
        names = ", ".join(one.addr_spec for one in to if one.addr_spec not in refused)
        left = f"; not taken: {', '.join(refused)}" if refused else ""
        return f"mail to {names}{left}"

    def _hand_over(self, message: EmailMessage) -> dict[str, tuple[int, bytes]]:
        place, encryption = self.smtp, self._encryption()
        server = (
            smtplib.SMTP_SSL(place.host, place.port, timeout=_SECONDS, context=encryption)
            if place.is_tls
            else smtplib.SMTP(place.host, place.port, timeout=_SECONDS)
        )
        with server:
            server.ehlo_or_helo_if_needed()
            has_login = self.user is not None
            # inside this machine there is nothing to hide mail from, but a login is checked anyway
            if not place.is_tls and (has_login or not place.is_here):
                if server.has_extn("starttls"):
                    server.starttls(context=encryption)
                    server.ehlo()
                elif has_login:
                    raise smtplib.SMTPNotSupportedError(
                        "it has no STARTTLS, and a password is not sent in the clear"
                    )
            if self.user is not None and self.password is not None:
                server.login(self.user, self.password.read())
            return server.send_message(message)

    def _encryption(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"{self.name}: ca_file = {str(self.ca_file)!r}: {error}") from error


def _own_domain() -> str:
    return platform.node() or "localhost"


def _readable(said: bytes | str) -> str:
    words = said.decode(errors="replace") if isinstance(said, bytes) else said
    return " ".join(words.split())[:200]
