"""Access control: the dashboard's own pages and clients with the token."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonde.web.hosts import is_loopback
from sonde.web.token_pages import (
    send_cookie,
    send_refusal,
    send_token_missing,
    token_in,
)

REQUEST_HEADER = "X-Sonde"
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


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Where the server listens and which token it requires."""

    port: int
    token: str | None = None  # None: no token required
    is_local: bool = True  # only this machine can connect; the Host header is checked

    @property
    def cookie(self) -> str:
        """The cookie's name. It contains the port, because browsers share cookies between ports."""
        return f"sonde-token-{self.port}"

    @property
    def cookie_value(self) -> str:
        """The value that a browser stores instead of the token.

        A server that uses this port later receives the cookie, too. The cookie is not valid on
        other ports, and the token cannot be derived from it.
        """
        text = f"cookie of port {self.port}"
        return hmac.new(str(self.token).encode(), text.encode(), "sha256").hexdigest()

    def admits(self, text: str | None) -> bool:
        """Whether a token is correct, compared in constant time."""
        return self.token is not None and _is_same(text, self.token)

    def admits_cookie(self, text: str | None) -> bool:
        """Whether a cookie was set by a server with this port and token."""
        return self.token is not None and _is_same(text, self.cookie_value)


def _is_same(text: str | None, expected: str) -> bool:
    return hmac.compare_digest((text or "").encode(), expected.encode())


class Security:
    """Middleware that checks every request."""

    def __init__(self, app: ASGIApp, access: AccessPolicy) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on and add security headers to the response."""
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
            await send_refusal(send_with_headers, *refusal)
        elif self._has_token_in_address(scope):
            await send_cookie(scope, self._access, send_with_headers)
        elif not self._is_authorized(scope):
            await send_token_missing(scope, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._access.is_local and not is_loopback(_host_name(host)):
            # DNS rebinding: a foreign host name that resolves to this machine
            return 421, f"Unknown host {host!r}. Open the dashboard as localhost."
        if scope["method"] in _SAFE_METHODS:
            return None
        if headers.get(REQUEST_HEADER) != "1":
            return 403, f"Requests that change a job require the header {REQUEST_HEADER}: 1."
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return 403, f"Cross-origin requests from {origin!r} are not allowed."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "Cross-site requests are not allowed."
        return None

    def _is_authorized(self, scope: Scope) -> bool:
        if self._access.token is None:
            return True
        headers = Headers(scope=scope)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        cookies = _cookies(";".join(headers.getlist("cookie")), self._access.cookie)
        return self._access.admits(bearer) or any(map(self._access.admits_cookie, cookies))

    def _has_token_in_address(self, scope: Scope) -> bool:
        return scope["method"] == "GET" and self._access.admits(token_in(scope))


def _host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0] if "]" in host else host
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _cookies(header: str, name: str) -> list[str]:
    """All values of a cookie.

    Other servers on this host set cookies, too: some are not valid, and some have the same name for
    another path. Neither may hide ours.
    """
    pairs = (cookie.strip().partition("=") for cookie in header.split(";"))
    return [value for key, _, value in pairs if key == name]
