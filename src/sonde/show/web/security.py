"""Who may ask: nothing but pages of ours, from this machine or with the token."""

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonde.show.web.replies import error_reply

OWN_HEADER = "X-Sonde"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_TOKEN = "token"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Door:
    """Where the server listens, and what it takes to come in from elsewhere."""

    port: int
    token: str | None = None  # None: only this machine can reach us, so that its name is checked

    @property
    def cookie(self) -> str:
        """A browser keeps cookies per host, whatever the port: ours says which one is meant."""
        return f"sonde-token-{self.port}"

    def admits(self, text: str | None) -> bool:
        """Whether a token is the right one; takes the same time however wrong it is."""
        return bool(self.token) and hmac.compare_digest(
            (text or "").encode(), str(self.token).encode()
        )


class Security:
    """Stands before the whole server."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses, or lets through and adds our headers to what comes back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(send_with_headers, *refusal)
        elif not self._is_known(scope):
            await self._ask_for_token(scope, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._door.token is None and not is_loopback(_host_name(host)):
            # a page of somebody else whose name was made to mean this machine
            return 421, f"The dashboard does not answer to {host!r}. Open it as localhost."
        if scope["method"] in _SAFE_METHODS:
            return None
        if headers.get(OWN_HEADER) != "1":
            return 403, f"What changes a job needs the header {OWN_HEADER}: 1."
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return 403, f"Pages of {origin!r} may change nothing here."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "Pages of others may change nothing here."
        return None

    def _is_known(self, scope: Scope) -> bool:
        if self._door.token is None:
            return True
        headers = Headers(scope=scope)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        return self._door.admits(bearer) or self._door.admits(
            _cookies(headers.get("cookie", "")).get(self._door.cookie)
        )

    async def _ask_for_token(self, scope: Scope, send: Send) -> None:
        """A token in the address becomes a cookie that no script can read, and leaves it."""
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
        given = next((value for name, value in query if name == _TOKEN), None)
        if not self._door.admits(given) or scope["method"] != "GET":
            text = "The token is missing or wrong. Open the address that sonde ui printed."
            await _refuse(send, 401, text)
            return
        rest = urlencode([one for one in query if one[0] != _TOKEN])
        target = f"{quote('/' + scope['path'].lstrip('/'))}{'?' + rest if rest else ''}"
        cookie = f"{self._door.cookie}={given}; HttpOnly; SameSite=Lax; Path=/"
        headers = [
            (b"location", target.encode()),
            (b"set-cookie", cookie.encode()),
            (b"content-length", b"0"),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0] if "]" in host else host
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _cookies(text: str) -> dict[str, str]:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(text)
    except CookieError:
        return {}
    return {name: one.value for name, one in jar.items()}


async def _refuse(send: Send, status: int, text: str) -> None:
    reply = error_reply(text, status)
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"content-length", str(len(reply.body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
