"""Sends replies: with their marks, compressed for who can read it, or not at all if known."""

from starlette.requests import Request
from starlette.responses import Response

from sonde.web.replies import Packed

_ASK_AGAIN = "private, no-cache"


def wants_gzip(request: Request) -> bool:
    """Whether the browser can read what is compressed."""
    return "gzip" in request.headers.get("accept-encoding", "")


def response(request: Request, one: Packed, caching: str = _ASK_AGAIN) -> Response:
    """The whole of it; 304 where the browser has the same already."""
    reply = one.reply
    headers = {"Vary": "Accept-Encoding", **reply.headers}
    if reply.status == 200:
        headers |= {"Cache-Control": caching, "ETag": one.etag}
        if request.headers.get("if-none-match") == one.etag:
            return Response(status_code=304, headers=headers)
    body = reply.body
    if one.compressed is not None:
        headers["Content-Encoding"] = "gzip"
        body = one.compressed
    return Response(body, reply.status, {**headers, "Content-Type": reply.media_type})
