"""HTTP responses with ETags, compression and 304 Not Modified."""

from starlette.requests import Request
from starlette.responses import Response

from sonde.web.replies import Packed

_REVALIDATE = "private, no-cache"


def wants_gzip(request: Request) -> bool:
    """Whether the client accepts gzip."""
    return "gzip" in request.headers.get("accept-encoding", "")


def response(request: Request, packed: Packed, caching: str = _REVALIDATE) -> Response:
    """The response for a reply; 304 if the client already has it."""
    reply = packed.reply
    headers = {"Vary": "Accept-Encoding", **reply.headers}
    if reply.status == 200:
        headers |= {"Cache-Control": caching, "ETag": packed.etag}
        if request.headers.get("if-none-match") == packed.etag:
            return Response(status_code=304, headers=headers)
    body = reply.body
    if packed.compressed is not None:
        headers["Content-Encoding"] = "gzip"
        body = packed.compressed
    return Response(body, reply.status, {**headers, "Content-Type": reply.media_type})
