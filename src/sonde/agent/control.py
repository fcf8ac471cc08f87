"""Answer control requests to a running job: stop it, or change its sampling."""

from collections.abc import Callable

from sonde.agent.heartbeat import HeartbeatWriter
from sonde.clock import Clock
from sonde.errors import UsageError
from sonde.formats import format_duration
from sonde.records.notice import NoticeKind
from sonde.records.request import Request, RequestKind
from sonde.settings import parse_interval
from sonde.store.control import LAST_STEP, Inbox
from sonde.store.writer import Writer


class ControlRequests:
    """Answers the requests to a node, and forwards those for its workers.

    Args:
        heartbeat: Written after a change, so that readers see it immediately.
        writer: Records changes as notices.
        clock: The time.
        on_stop: Stops the job and returns the reply.
        forward: Passes a request on to workers that read another folder.
    """

    def __init__(
        self,
        heartbeat: HeartbeatWriter,
        writer: Writer,
        clock: Clock,
        on_stop: Callable[[Request], str],
        forward: Callable[[Request], None],
    ) -> None:
        self._heartbeat = heartbeat
        self._writer = writer
        self._clock = clock
        self._on_stop = on_stop
        self._forward = forward

    def answer(self, inbox: Inbox) -> None:
        """Execute and answer new requests."""
        for request in inbox.new_requests():
            if request.kind.is_for_workers or LAST_STEP in request.arguments:
                self._forward(request)
            if request.kind.is_for_workers:
                continue
            try:
                message, is_done = self._execute(request), True
            except UsageError as error:
                message, is_done = str(error), False
            inbox.reply(request, self._clock, is_done=is_done, message=message)

    def _execute(self, request: Request) -> str:
        if request.kind is RequestKind.STOP:
            return self._on_stop(request)
        replies = []
        for name, value in request.arguments.items():
            reply = self._set(name, value)
            replies.append(reply)
            self._writer.notice(NoticeKind.CHANGED, name, f"{reply} (requested)")
        self._heartbeat.write()
        return ", ".join((replies[0].capitalize(), *replies[1:])) if replies else ""

    def _set(self, name: str, value: str) -> str:
        sampler = self._heartbeat.sampler
        assert sampler is not None
        if name == "interval":
            seconds = parse_interval(value)
            sampler.set_interval(seconds)
            return f"sampling every {format_duration(seconds)}"
        if name == "monitoring" and value in ("on", "off"):
            sampler.is_monitoring = value == "on"
            return f"sampling turned {value}"
        raise UsageError(f"Cannot set {name}={value}. Use interval=TIME or monitoring=on|off.")
