"""Live news of jobs: one follower per job, however many pages listen; once a second at most."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sonde.errors import JobNotFoundError, SondeError
from sonde.guard import Guard
from sonde.store.layout import check_name
from sonde.web.error_texts import without_paths
from sonde.web.library import Library
from sonde.web.live_updates import Moment, look_at
from sonde.web.replies import error_reply
from sonde.web.shared_job import SharedJob

_EVERY_SECONDS = 1.0
_SILENCE_SECONDS = 15.0  # then a word that says nothing, so that a lost connection is noticed
_MOST_LISTENERS = 512
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_LAST_EVENT = "last-event-id"

Look = Callable[[], Moment | None]
Sleep = Callable[[float], Awaitable[None]]


class Feed:
    """The news of one job, for everybody who listens; nobody listens, nobody looks."""

    def __init__(self, look: Look, pause: Callable[[], Awaitable[None]]) -> None:
        self.listeners = 0
        self._look = look
        self._pause = pause
        self._guard = Guard()
        self._moment: Moment | None = None
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        self.listeners += 1
        if self._task is None:
            self._task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            self.listeners -= 1
            if not self.listeners and self._task is not None:
                self._task.cancel()
                self._task = None
                self._moment = None

    async def news(self, cursor: str) -> AsyncGenerator[bytes, None]:
        """What somebody who stands at a cursor has to be told, as it happens."""
        async with self._listening():
            while True:
                events = self._moment.news(cursor) if self._moment else []
                if self._moment and events:
                    cursor = self._moment.cursor
                    yield b"".join(one.encoded() for one in events)
                    continue
                try:
                    async with asyncio.timeout(_SILENCE_SECONDS), self._changed:
                        await self._changed.wait()
                except TimeoutError:
                    yield b": still here\n\n"

    async def _follow(self) -> None:
        while True:
            found = await run_in_threadpool(
                self._guard.attempt, "a look at a job", self._look, self._moment
            )
            if found is not None and found != self._moment:
                async with self._changed:
                    self._moment = found
                    self._changed.notify_all()
            await self._pause()


class Feeds:
    """One feed per job that anybody listens to."""

    def __init__(self, library: Library, sleep: Sleep = asyncio.sleep) -> None:
        self._library = library
        self._sleep = sleep
        self._feeds: dict[str, Feed] = {}

    async def endpoint(self, request: Request) -> Response:
        """`/api/jobs/{job}/events`: goes on until the page leaves."""
        try:
            job = await run_in_threadpool(self._job, request.path_params["job"])
        except SondeError as error:
            status = 404 if isinstance(error, JobNotFoundError) else 400
            reply = error_reply(without_paths(str(error), self._library.store), status)
            return Response(reply.body, reply.status, media_type=reply.media_type)
        if sum(one.listeners for one in self._feeds.values()) >= _MOST_LISTENERS:
            reply = error_reply("Too many pages listen already. Close some.", 503)
            return Response(reply.body, reply.status, media_type=reply.media_type)
        cursor = request.headers.get(_LAST_EVENT) or request.query_params.get("cursor", "")
        news = self._feed(job.name, job.backend.poll_seconds).news(cursor)
        return StreamingResponse(news, media_type="text/event-stream", headers=_HEADERS)

    def _feed(self, name: str, poll_seconds: float) -> Feed:
        """Knows the job by its name only: who has listened keeps nothing open."""
        # where every look is a request to somebody else, there are fewer of them
        pause = partial(self._sleep, max(_EVERY_SECONDS, poll_seconds))
        return self._feeds.setdefault(name, Feed(partial(self._look, name), pause))

    def _look(self, name: str) -> Moment | None:
        """The job now; None while its store does not answer, or once it is gone."""
        try:
            return look_at(self._job(name))
        except SondeError:
            return None

    def _job(self, name: str) -> SharedJob:
        return self._library.job(check_name(name))
