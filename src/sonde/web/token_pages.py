"""Replies to clients without a token, or with the token in the URL."""

from html import escape
from typing import Protocol
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.types import Scope, Send

from sonde.web.replies import Reply, error_reply

_TOKEN = "token"
_COOKIE_SECONDS = 90 * 24 * 3600
_HTML = "text/html; charset=utf-8"
_MISSING = "Missing or invalid token. Open the link that sonde ui printed."
_MISSING_PAGE = (
    "<h1>This dashboard needs a token</h1>"
    "<p>Open the link that <code>sonde ui</code> or <code>sonde run --ui</code> printed in the "
    "terminal. It ends in <code>?token=…</code>. This browser then remembers it.</p>"
    '<p>Already opened that link in this browser? <a href="/">Continue to the dashboard</a>.</p>'
    "<p>Lost the link? Run <code>sonde ui</code> again to print it.</p>"
)


class CookieSource(Protocol):
    """The cookie that replaces the token."""

    @property
    def cookie(self) -> str:
        """Its name."""

    @property
    def cookie_value(self) -> str:
        """Its value."""


def token_in(scope: Scope) -> str | None:
    """The token in the URL, if there is one."""
    return next((value for name, value in _query(scope) if name == _TOKEN), None)


async def send_cookie(scope: Scope, source: CookieSource, send: Send) -> None:
    """Exchange the token in the URL for a cookie that scripts cannot read.

    Browsers do not send a strict cookie after a redirect from another site, such as a notebook.
    In that case, send a page that continues by itself.
    """
    rest = urlencode([pair for pair in _query(scope) if pair[0] != _TOKEN])
    target = f"{quote('/' + scope['path'].lstrip('/'))}{'?' + rest if rest else ''}"
    cookie = (
        f"{source.cookie}={source.cookie_value}; Max-Age={_COOKIE_SECONDS}; "
        "HttpOnly; SameSite=Strict; Path=/"
    )
    headers = {"set-cookie": cookie}
    if Headers(scope=scope).get("sec-fetch-site") == "cross-site":
        link = escape(target)
        body = f'<a href="{link}">Continue to the dashboard</a>'
        refresh = f'<meta http-equiv="refresh" content="0;url={link}">'
        await _send(send, Reply(_document(body, refresh), _HTML, headers=headers))
    else:
        await _send(send, Reply(b"", _HTML, 303, {**headers, "location": target}))


async def send_token_missing(scope: Scope, send: Send) -> None:
    """Explain how to get a token: a page for browsers, JSON for scripts."""
    accepted = Headers(scope=scope).get("accept", "")
    if "text/html" in accepted and not scope["path"].startswith("/api/"):
        reply = Reply(_document(_MISSING_PAGE), _HTML, 401)
    else:
        reply = error_reply(_MISSING, 401)
    reply.headers["www-authenticate"] = "Bearer"
    await _send(send, reply)


async def send_refusal(send: Send, status: int, text: str) -> None:
    """Send the reason why a request is refused."""
    await _send(send, error_reply(text, status))


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope.get("query_string", b"").decode("latin-1"))


def _document(body: str, head: str = "") -> bytes:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sonde</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"{head}</head><body>{body}</body></html>"
    )
    return text.encode()


async def _send(send: Send, reply: Reply) -> None:
    headers = {
        "content-type": reply.media_type,
        "content-length": str(len(reply.body)),
        **reply.headers,
    }
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "http.response.body", "body": reply.body})
