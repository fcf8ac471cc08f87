"""Mail over SMTP, and whether a failure may be retried."""

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

_TIMEOUT_SECONDS = 10.0
_PERMANENT = 500
_DEFAULT_PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """An SMTP server."""

    host: str
    port: int
    is_tls: bool  # TLS from the first byte

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def mail_server(value: object, where: str) -> MailServer:
    """Parse a server URL such as smtp://mail.example.org:587."""
    url = text(value, where)
    try:
        components = urlsplit(url)
        host, port = components.hostname, components.port
    except ValueError:
        host, port = None, None
    if not host or components.scheme not in _DEFAULT_PORTS or components.path not in ("", "/"):
        raise UsageError(
            f"{where} is not a mail server. Examples: smtp://localhost:25, smtps://host:465"
        )
    if components.username or components.password:
        raise UsageError(
            f"{where} contains a password. Use user with password_env or password_file."
        )
    return MailServer(host, port or _DEFAULT_PORTS[components.scheme], components.scheme == "smtps")


def mail_address(value: object, where: str) -> Address:
    """Parse a mail address, with or without a display name."""
    address_text = text(value, where)
    try:
        header: Any = SMTPUTF8.header_factory("To", address_text)
        (parsed,) = header.addresses
        domain = str(parsed.domain)
        domain = domain if domain.isascii() else domain.encode("idna").decode()
        address = Address(str(parsed.display_name), str(parsed.username), domain)
        defects = [
            defect for defect in header.defects if not isinstance(defect, NonASCIILocalPartDefect)
        ]
        is_valid = bool(not defects and address.username and domain)
    except (ValueError, IndexError, MessageError):
        is_valid = False
    if not is_valid:
        raise UsageError(
            f"{where} = {address_text!r} is not an email address. Example: me@example.org"
        )
    return address


def mail_addresses(value: object, where: str) -> tuple[Address, ...]:
    """Parse one mail address or a list."""
    addresses = value if isinstance(value, list | tuple) else [value]
    if not addresses:
        raise UsageError(f"{where} = [] is empty. Specify at least one address.")
    return tuple(mail_address(address, where) for address in addresses)


class MailingAction(Action):
    """Base class of actions that send mail."""

    mail_keys: ClassVar[tuple[Key, ...]] = (
        key(
            *("smtp", mail_server, '"smtp://localhost:25"'),
            "mail server: `smtp://…` uses STARTTLS if available, and requires it for a login; "
            "`smtps://…` uses TLS",
        ),
        key("user", text, "", "user name for the mail server"),
        *secret_keys("password", "the password"),
        key("from", mail_address, "sonde@HOSTNAME", "sender address", "sender"),
        key("ca_file", file_name, "", "CA certificate to verify the server"),
    )

    smtp: MailServer = MailServer("localhost", 25, is_tls=False)
    user: str | None = None
    password: Secret | None = None
    sender: Address | None = None
    ca_file: Path | None = None

    def ready(self) -> None:
        """Validate the login and the certificate."""
        super().ready()
        if (self.user is None) != (self.password is None):
            raise UsageError(
                f"{self.name}: a login requires user and password_env or password_file."
            )
        self._encryption()

    def mail(self, clock: Clock, to: Sequence[Address], subject: str, content: str) -> str:
        """Send an email; return a description.

        Raises:
            ActionError: The server did not accept the mail.
        """
        message = EmailMessage(policy=SMTPUTF8)
        message["From"] = self.sender or Address("sonde", "sonde", _local_domain())
        message["To"] = to
        message["Subject"] = subject
        message["Date"] = formatdate(clock.now_ns() / NANOSECONDS)
        message["Message-ID"] = make_msgid("sonde", domain=_local_domain())
        message.set_content(content)
        try:
            refused = self._deliver(message)
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            raise ActionError(
                f"{self.smtp.host} refused all recipients: {', '.join(map(str, codes))}",
                is_final=min(codes) >= _PERMANENT,
            ) from None
        except smtplib.SMTPResponseException as error:
            message_text = (
                f"{self.smtp.host} returned {error.smtp_code} {_readable(error.smtp_error)}"
            )
            raise ActionError(message_text, is_final=error.smtp_code >= _PERMANENT) from None
        except (smtplib.SMTPNotSupportedError, ssl.SSLError) as error:
            raise ActionError(f"{self.smtp.host}: {error}", is_final=True) from None
        except (smtplib.SMTPException, OSError) as error:
            raise ActionError(f"cannot reach {self.smtp.host}: {error}") from None
        names = ", ".join(each.addr_spec for each in to if each.addr_spec not in refused)
        suffix = f"; refused: {', '.join(refused)}" if refused else ""
        return f"sent email to {names}{suffix}"

    def _deliver(self, message: EmailMessage) -> dict[str, tuple[int, bytes]]:
        smtp, encryption = self.smtp, self._encryption()
        server = (
            smtplib.SMTP_SSL(smtp.host, smtp.port, timeout=_TIMEOUT_SECONDS, context=encryption)
            if smtp.is_tls
            else smtplib.SMTP(smtp.host, smtp.port, timeout=_TIMEOUT_SECONDS)
        )
        with server:
            server.ehlo_or_helo_if_needed()
            has_login = self.user is not None
            # mail to a local server needs no encryption, unless there is a login
            if not smtp.is_tls and (has_login or not smtp.is_local):
                if server.has_extn("starttls"):
                    server.starttls(context=encryption)
                    server.ehlo()
                elif has_login:
                    raise smtplib.SMTPNotSupportedError(
                        "the server does not support STARTTLS, which a login requires"
                    )
            if self.user is not None and self.password is not None:
                server.login(self.user, self.password.read())
            return server.send_message(message)

    def _encryption(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"{self.name}: ca_file = {str(self.ca_file)!r}: {error}") from error


def _local_domain() -> str:
    return platform.node() or "localhost"


def _readable(response: bytes | str) -> str:
    text = response.decode(errors="replace") if isinstance(response, bytes) else response
    return " ".join(text.split())[:200]
