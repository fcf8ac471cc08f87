"""A mail server on the loopback interface with STARTTLS, login and refusals."""

import asyncio
import base64
import datetime
import ipaddress
import ssl
import threading
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTPUTF8
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "sonde", "open sesame"


def write_certificate(folder: Path) -> Path:
    """Write a certificate for 127.0.0.1 and its key to a file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


@dataclass
class Envelope:
    """A received mail."""

    recipients: list[str]
    message: EmailMessage
    is_encrypted: bool
    user: str | None


@dataclass
class MailServer:
    """Accepts mail; with a certificate it offers STARTTLS, and then login."""

    certificate: Path | None = None
    is_tls_at_once: bool = False
    answers_to_data: list[str] = field(default_factory=list)  # instead of accepting it
    refused: tuple[str, ...] = ()  # recipients
    envelopes: list[Envelope] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._encryption = None
        if self.certificate is not None:
            self._encryption = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._encryption.load_cert_chain(self.certificate)
        at_once = self._encryption if self.is_tls_at_once else None
        opening = asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=at_once)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result(10)
        self.port = int(self._server.sockets[0].getsockname()[1])
        scheme = "smtps" if self.is_tls_at_once else "smtp"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _Conversation(self, reader, writer, is_encrypted=self.is_tls_at_once).hold()
        except (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    @property
    def encryption(self) -> ssl.SSLContext | None:
        """The TLS context for STARTTLS; None if it is not offered."""
        return None if self.is_tls_at_once else self._encryption


class _Conversation:
    """A conversation with a client."""

    def __init__(
        self,
        server: MailServer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        is_encrypted: bool,
    ) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self._is_encrypted = is_encrypted
        self._user: str | None = None
        self._recipients: list[str] = []

    async def hold(self) -> None:
        """Run from the greeting to the end."""
        await self._send("220 ready")
        while line := (await self._reader.readline()).decode().strip():
            verb = line.split()[0].upper()
            if verb == "QUIT":
                await self._send("221 bye")
                return
            await self._answer(verb, line)

    async def _answer(self, verb: str, line: str) -> None:
        if verb == "EHLO":
            await self._send(*self._extensions())
        elif verb == "STARTTLS" and self._server.encryption:
            await self._send("220 go ahead")
            await self._writer.start_tls(self._server.encryption)
            self._is_encrypted = True
        elif verb == "AUTH":
            await self._log_in(line)
        elif verb == "RCPT":
            address = line.partition("<")[2].partition(">")[0]
            is_refused = address in self._server.refused
            self._recipients += [] if is_refused else [address]
            await self._send("550 no such user" if is_refused else "250 ok")
        elif verb == "DATA":
            await self._take_mail()
        else:
            await self._send("250 ok")

    def _extensions(self) -> list[str]:
        extensions = ["mail.example.org", "SMTPUTF8", "8BITMIME"]
        if self._server.encryption and not self._is_encrypted:
            extensions.append("STARTTLS")
        if self._is_encrypted:
            extensions.append("AUTH PLAIN")
        return [f"250-{extension}" for extension in extensions[:-1]] + [f"250 {extensions[-1]}"]

    async def _log_in(self, line: str) -> None:
        assert self._is_encrypted
        _, user, password = base64.b64decode(line.split()[2]).decode().split("\0")
        self._server.logins.append(user)
        is_right = (user, password) == (USER, PASSWORD)
        self._user = user if is_right else None
        await self._send("235 welcome" if is_right else "535 who are you")

    async def _take_mail(self) -> None:
        await self._send("354 go on")
        content = await self._reader.readuntil(b"\r\n.\r\n")
        if self._server.answers_to_data:
            await self._send(self._server.answers_to_data.pop(0))
            return
        message = message_from_bytes(content[:-3], policy=SMTPUTF8)
        assert isinstance(message, EmailMessage)
        self._server.envelopes.append(
            Envelope(self._recipients, message, self._is_encrypted, self._user)
        )
        await self._send("250 accepted")

    async def _send(self, *lines: str) -> None:
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self._writer.drain()
