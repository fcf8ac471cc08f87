"""Live updates of jobs as server-sent events: one poller per job, shared by all listeners."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sonde.errors import SondeError
from sonde.guard import Guard
from sonde.store.layout import check_name
from sonde.web.error_replies import exception_reply
from sonde.web.library import Library
from sonde.web.live_updates import Snapshot, take_snapshot
from sonde.web.replies import Reply, error_reply
from sonde.web.shared_job import SharedJob

_POLL_SECONDS = 1.0
_KEEPALIVE_SECONDS = 15.0  # an empty comment, so that a lost connection is noticed
_MAX_LISTENERS = 512
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_LAST_EVENT = "last-event-id"

Poll = Callable[[], Snapshot | None]
Sleep = Callable[[float], Awaitable[None]]


class Feed:
    """The live updates of one job; polls only while someone listens."""

    def __init__(self, poll: Poll, pause: Callable[[], Awaitable[None]]) -> None:
        self.listeners = 0
        self._poll = poll
        self._pause = pause
        self._guard = Guard()
        self._snapshot: Snapshot | None = None
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        self.listeners += 1
        if self._task is None:
            self._task = asyncio.create_task(self._poll_forever())
        try:
            yield
        finally:
            self.listeners -= 1
            if not self.listeners and self._task is not None:
                self._task.cancel()
                self._task = None
                self._snapshot = None

    async def updates(self, cursor: str) -> AsyncGenerator[bytes, None]:
        """The events after a cursor, as they happen."""
        async with self._listening():
            while True:
                events = self._snapshot.updates(cursor) if self._snapshot else []
                if self._snapshot and events:
                    cursor = self._snapshot.cursor
                    yield b"".join(event.encoded() for event in events)
                    continue
                try:
                    async with asyncio.timeout(_KEEPALIVE_SECONDS), self._changed:
                        await self._changed.wait()
                except TimeoutError:
                    yield b": keep-alive\n\n"

    async def _poll_forever(self) -> None:
        while True:
            snapshot = await run_in_threadpool(
                self._guard.attempt, "polling a job", self._poll, self._snapshot
            )
            if snapshot is not None and snapshot != self._snapshot:
                async with self._changed:
                    self._snapshot = snapshot
                    self._changed.notify_all()
            await self._pause()


class Feeds:
    """One feed per job that has listeners."""

    def __init__(self, library: Library, sleep: Sleep = asyncio.sleep) -> None:
        self._library = library
        self._sleep = sleep
        self._feeds: dict[str, Feed] = {}

    async def endpoint(self, request: Request) -> Response:
        """`/api/jobs/{job}/events`: stream updates until the client disconnects."""
        try:
            job = await run_in_threadpool(self._job, request.path_params["job"])
        except SondeError as error:
            return _plain_response(exception_reply(error, self._library.store))
        if sum(feed.listeners for feed in self._feeds.values()) >= _MAX_LISTENERS:
            return _plain_response(error_reply("Too many open dashboard pages. Close some.", 503))
        cursor = request.headers.get(_LAST_EVENT) or request.query_params.get("cursor", "")
        updates = self._feed(job.name, job.backend.poll_seconds).updates(cursor)
        return StreamingResponse(updates, media_type="text/event-stream", headers=_HEADERS)

    def _feed(self, name: str, poll_seconds: float) -> Feed:
        """The feed of a job; it holds the job's name only, so that it keeps no job open."""
        # object stores charge for each request: poll them less often
        pause = partial(self._sleep, max(_POLL_SECONDS, poll_seconds))
        return self._feeds.setdefault(name, Feed(partial(self._poll, name), pause))

    def _poll(self, name: str) -> Snapshot | None:
        """The job now; None while its store does not respond, or once it has been deleted."""
        try:
            return take_snapshot(self._job(name))
        except SondeError:
            return None

    def _job(self, name: str) -> SharedJob:
        return self._library.job(check_name(name))


def _plain_response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, media_type=reply.media_type)
