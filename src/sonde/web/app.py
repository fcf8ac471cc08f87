"""The web application: routes requests to endpoints and hides tracebacks."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sonde.bounded_cache import BoundedCache
from sonde.drawing.printable import escape_text
from sonde.errors import SondeError
from sonde.formats import format_bytes
from sonde.guard import Guard
from sonde.web import pages
from sonde.web.answers import ENDPOINTS, Endpoint
from sonde.web.error_replies import exception_reply
from sonde.web.library import Library
from sonde.web.live import Feeds
from sonde.web.query_params import Query
from sonde.web.replies import Packed, Reply, error_reply, packed
from sonde.web.responses import response, wants_gzip
from sonde.web.security import AccessPolicy, Security

_MAX_BODY_BYTES = 65_536
_MAX_CACHED_BYTES = 64 << 20
_INTERNAL_ERROR = (
    "Internal error in Sonde. See the server log for details. Try again, or report the problem."
)


def create_app(library: Library, access: AccessPolicy) -> Starlette:
    """Create the application that serves one store."""
    replies: BoundedCache[Packed] = BoundedCache(_MAX_CACHED_BYTES, lambda reply: reply.size)
    routes: list[BaseRoute] = [
        Route("/", pages.page),
        Route("/assets/{name}", pages.asset),
        Route("/api/jobs/{job}/events", Feeds(library).endpoint),
    ]
    for name in ENDPOINTS.names():
        for endpoint in ENDPOINTS.load(name)().endpoints():
            view = _view(library, endpoint, replies)
            routes.append(Route(f"/api{endpoint.path}", view, methods=[endpoint.method]))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Security, access=access)],
        exception_handlers={HTTPException: _not_found},
    )
    app.router.redirect_slashes = False
    return app


def _view(library: Library, endpoint: Endpoint, replies: BoundedCache[Packed]) -> Any:
    guard = Guard()

    async def view(request: Request) -> Response:
        body = await _read_body(request)
        if isinstance(body, Reply):
            return response(request, packed(body, is_gzip_wanted=False))
        query = Query(library, request.path_params, request.query_params, body)
        key = (request.url.path, request.url.query, wants_gzip(request))
        fallback = packed(error_reply(_INTERNAL_ERROR, 500), is_gzip_wanted=False)
        reply = await run_in_threadpool(
            guard.attempt,
            f"the reply to {escape_text(endpoint.path)}",
            lambda: _reply(endpoint, query, replies, key),
            fallback,
        )
        return response(request, reply)

    return view


def _reply(
    endpoint: Endpoint, query: Query, replies: BoundedCache[Packed], key: tuple[object, ...]
) -> Packed:
    is_gzip_wanted = bool(key[-1])
    try:
        is_cached = endpoint.is_cached and "job" in query.path and endpoint.method == "GET"
        if is_cached and query.job.facts.state.is_over:
            key = (*key, *query.job.revision)
            reply = replies.get(key)
            if reply is None:
                reply = packed(endpoint.handler(query), is_gzip_wanted=is_gzip_wanted)
                if reply.size <= _MAX_CACHED_BYTES // 4:
                    replies.put(key, reply)
            return reply
        return packed(endpoint.handler(query), is_gzip_wanted=is_gzip_wanted)
    except SondeError as error:
        return packed(exception_reply(error, query.library.store), is_gzip_wanted=False)


async def _read_body(request: Request) -> Mapping[str, Any] | Reply:
    """Read the JSON object in the body; an error reply if it is not one."""
    if request.method in ("GET", "HEAD"):
        return {}
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MAX_BODY_BYTES:
            limit = format_bytes(_MAX_BODY_BYTES)
            return error_reply(f"The request body is larger than {limit}. Send less.", 413)
    try:
        document = json.loads(content or b"{}")
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        return error_reply("The request body is not valid JSON.", 400)
    if isinstance(document, dict):
        return document
    return error_reply("The request body must be a JSON object.", 400)


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    text = f"No endpoint for {request.method} {request.url.path}."
    return response(request, packed(error_reply(escape_text(text), status), is_gzip_wanted=False))
