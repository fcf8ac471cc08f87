"""The application: finds who answers, asks in a thread, and never shows a traceback."""

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
from sonde.drawing.printable import visible
from sonde.errors import (
    JobExistsError,
    JobNotFoundError,
    JobNotRunningError,
    KeyMissingError,
    SondeError,
    StoreError,
    UsageError,
)
from sonde.guard import Guard
from sonde.web import pages
from sonde.web.answers import ANSWERS, Address
from sonde.web.error_texts import without_paths
from sonde.web.library import Library
from sonde.web.live import Feeds
from sonde.web.query_params import Question
from sonde.web.replies import Packed, Reply, error_reply, packed
from sonde.web.responses import response, wants_gzip
from sonde.web.security import Door, Security

_STATUSES: tuple[tuple[type[SondeError], int], ...] = (
    (JobNotFoundError, 404),
    (KeyMissingError, 404),
    (JobNotRunningError, 409),
    (JobExistsError, 409),
    (UsageError, 400),
    (StoreError, 503),
)
_LARGEST_BODY = 65_536
_MOST_KEPT = 64 << 20
_OUR_FAULT = "Something went wrong in Sonde; the server's log says what. Try again, or report it."


def create_app(library: Library, door: Door) -> Starlette:
    """The whole server over one store."""
    replies: BoundedCache[Packed] = BoundedCache(_MOST_KEPT, lambda reply: reply.size)
    routes: list[BaseRoute] = [
        Route("/", pages.page),
        Route("/assets/{name}", pages.asset),
        Route("/api/jobs/{job}/events", Feeds(library).endpoint),
    ]
    for name in ANSWERS.names():
        for address in ANSWERS.load(name)().addresses():
            endpoint = _endpoint(library, address, replies)
            routes.append(Route(f"/api{address.path}", endpoint, methods=[address.method]))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Security, door=door)],
        exception_handlers={HTTPException: _not_there},
    )
    app.router.redirect_slashes = False
    return app


def _endpoint(library: Library, address: Address, replies: BoundedCache[Packed]) -> Any:
    guard = Guard()

    async def endpoint(request: Request) -> Response:
        body = await _body(request)
        if isinstance(body, Reply):
            return response(request, packed(body, is_gzip_wanted=False))
        question = Question(library, request.path_params, request.query_params, body)
        key = (request.url.path, request.url.query, wants_gzip(request))
        fault = packed(error_reply(_OUR_FAULT, 500), is_gzip_wanted=False)
        found = await run_in_threadpool(
            guard.attempt,
            f"the answer of {visible(address.path)}",
            lambda: _answer(address, question, replies, key),
            fault,
        )
        return response(request, found)

    return endpoint


def _answer(
    address: Address, question: Question, replies: BoundedCache[Packed], key: tuple[object, ...]
) -> Packed:
    is_gzip_wanted = bool(key[-1])
    try:
        is_kept = address.is_kept and "job" in question.path and address.method == "GET"
        if is_kept and question.job.facts.state.is_over:
            key = (*key, *question.job.revision)
            found = replies.get(key)
            if found is None:
                found = packed(address.answer(question), is_gzip_wanted=is_gzip_wanted)
                if found.size <= _MOST_KEPT // 4:
                    replies.put(key, found)
            return found
        return packed(address.answer(question), is_gzip_wanted=is_gzip_wanted)
    except SondeError as error:
        status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 400)
        text = without_paths(str(error), question.library.store)
        return packed(error_reply(visible(text), status), is_gzip_wanted=False)


async def _body(request: Request) -> Mapping[str, Any] | Reply:
    """What was sent along: a JSON object, or why it is none."""
    if request.method in ("GET", "HEAD"):
        return {}
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST_BODY:
            return error_reply(f"More than {_LARGEST_BODY} bytes were sent. Send less.", 413)
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError):  # the latter where it is nested too deep
        return error_reply("What was sent is no JSON.", 400)
    return found if isinstance(found, dict) else error_reply("Send a JSON object.", 400)


async def _not_there(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    text = f"There is nothing at {request.url.path}, or not for {request.method}."
    return response(request, packed(error_reply(visible(text), status), is_gzip_wanted=False))
