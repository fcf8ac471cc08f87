"""Requests that a worker answers while it trains; its worker thread polls for them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.errors import StoreError, UsageError
from sonde.formats import format_duration, pluralize
from sonde.hook.profile_windows import RequestedWindow
from sonde.hook.stopping import LastStep
from sonde.records.request import Request, RequestKind
from sonde.settings import requested_windows
from sonde.store.control import LAST_STEP, TO_NODES, TO_WORKERS, Inbox, worker_name

if TYPE_CHECKING:
    from sonde.hook.session import Session

_POLL_SECONDS = 0.25
_REPLY_SECONDS = 0.6  # reply after this long, even if the first window has not begun


@dataclass(frozen=True, slots=True)
class _OpenRequest:
    """A request that has not been answered yet."""

    request: Request
    windows: tuple[RequestedWindow, ...]
    due: float


class Requests:
    """Receives the requests addressed to this worker, and answers them."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.last_step = LastStep(session)
        session.listeners.on_begin(self._begin)

    def _begin(self) -> None:
        session = self._session
        assert session.store.info is not None
        self._inbox = Inbox(session.store.backend, worker_name(session.store.info.rank))
        self._open: list[_OpenRequest] = []
        self._progress_requests: list[Request] = []
        session.worker_thread.poll(self._poll, _POLL_SECONDS)

    def _poll(self) -> None:
        try:
            self._report_progress()
            for request in self._inbox.new_requests():
                if request.kind is RequestKind.PROFILE and self._is_addressed(request):
                    self._accept(request)
                elif request.kind is RequestKind.PLACE:
                    self.last_step.record_live()
                    self._progress_requests.append(request)
                elif LAST_STEP in request.arguments:
                    self.last_step.set(request, self._inbox)
            for open_request in list(self._open):
                self._answer(open_request)
        except StoreError:  # the next poll may succeed
            return

    def _report_progress(self) -> None:
        """Answer progress requests of the previous poll: by now, all deferred steps are counted."""
        requests, self._progress_requests = self._progress_requests, []
        for request in requests:
            message = self.last_step.progress()
            self._inbox.reply(request, self._session.clock, is_done=True, message=message)

    def _is_addressed(self, request: Request) -> bool:
        """Whether a request to certain workers or nodes includes this worker."""
        assert self._session.store.info is not None
        addresses = {
            TO_WORKERS: str(self._session.store.info.rank),
            TO_NODES: self._session.store.worker.node,
        }
        return all(
            address in request.arguments[name].split(",")
            for name, address in addresses.items()
            if name in request.arguments
        )

    def _accept(self, request: Request) -> None:
        try:
            windows = requested_windows(request.arguments, "profile")
        except UsageError as error:
            self._inbox.reply(request, self._session.clock, is_done=False, message=str(error))
            return
        due = self._session.clock.seconds() + _REPLY_SECONDS
        self._open.append(_OpenRequest(request, self._session.windows.request(*windows), due))

    def _answer(self, open_request: _OpenRequest) -> None:
        """Reply as soon as a window has begun or all are refused, or when the reply is due."""
        clock = self._session.clock
        has_begun = any(window.began is not None for window in open_request.windows)
        is_refused = all(window.refusal is not None for window in open_request.windows)
        if has_begun or is_refused or clock.seconds() >= open_request.due:
            self._open.remove(open_request)
            message = "; ".join(map(_outcome, open_request.windows))
            self._inbox.reply(open_request.request, clock, is_done=not is_refused, message=message)


def _outcome(requested: RequestedWindow) -> str:
    window, kind = requested.window, requested.window.kind.value
    if requested.refusal is not None:
        return f"{kind}: {requested.refusal}"
    seconds, count = window.duration_seconds, window.num_steps
    if requested.began is None:
        length = pluralize(count, "step") if seconds is None else format_duration(seconds)
        return f"{kind} scheduled for {length}"
    if seconds is not None:
        return f"{kind} from step {requested.began} for {format_duration(seconds)}"
    last = requested.began + count - 1
    return f"{kind} in step {last}" if count == 1 else f"{kind} in steps {requested.began}–{last}"
