"""What workers are asked for while they train: they look for it themselves, behind the training."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.errors import StoreError, UsageError
from sonde.hook.profile_windows import Asked
from sonde.hook.stopping import LastStep
from sonde.records.request import Request, RequestKind
from sonde.settings import requested_windows
from sonde.store.control import LAST_STEP, TO_NODES, TO_WORKERS, Inbox, worker_name

if TYPE_CHECKING:
    from sonde.hook.session import Session

_LOOK_SECONDS = 0.25
_PATIENCE_SECONDS = 0.6  # until the answer is given, whether the first window has begun or not


@dataclass(frozen=True, slots=True)
class _Open:
    """A request that waits for its answer."""

    request: Request
    asked: tuple[Asked, ...]
    due: float


class Requests:
    """Takes the requests that a worker answers, and answers them."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.last_step = LastStep(session)
        session.listeners.on_begin(self._begin)

    def _begin(self) -> None:
        session = self._session
        assert session.store.info is not None
        self._inbox = Inbox(session.store.backend, worker_name(session.store.info.rank))
        self._open: list[_Open] = []
        self._asked_where: list[Request] = []
        session.worker_thread.watch(self._look, _LOOK_SECONDS)

    def _look(self) -> None:
        try:
            self._say_where()
            for request in self._inbox.new_requests():
                if request.kind is RequestKind.PROFILE and self._is_meant(request):
                    self._take(request)
                elif request.kind is RequestKind.PLACE:
                    self.last_step.watch_closely()
                    self._asked_where.append(request)
                elif LAST_STEP in request.arguments:
                    self.last_step.name(request, self._inbox)
            for one in list(self._open):
                self._answer(one)
        except StoreError:  # it may answer next time
            return

    def _say_where(self) -> None:
        """At the look after the one at which it was asked: by then no step is left untold."""
        asked, self._asked_where = self._asked_where, []
        for request in asked:
            message = self.last_step.place()
            self._inbox.reply(request, self._session.clock, is_done=True, message=message)

    def _is_meant(self, request: Request) -> bool:
        """Whether a request to some of the workers, or to those of some nodes, is to this one."""
        assert self._session.store.info is not None
        own = {
            TO_WORKERS: str(self._session.store.info.rank),
            TO_NODES: self._session.store.place.node,
        }
        return all(
            one in request.arguments[name].split(",")
            for name, one in own.items()
            if name in request.arguments
        )

    def _take(self, request: Request) -> None:
        try:
            windows = requested_windows(request.arguments, "profile")
        except UsageError as error:
            self._inbox.reply(request, self._session.clock, is_done=False, message=str(error))
            return
        due = self._session.clock.seconds() + _PATIENCE_SECONDS
        self._open.append(_Open(request, self._session.windows.ask(*windows), due))

    def _answer(self, one: _Open) -> None:
        """As soon as a window has begun, or none will; else when it takes too long."""
        clock = self._session.clock
        has_begun = any(asked.began is not None for asked in one.asked)
        is_refused = all(asked.refusal is not None for asked in one.asked)
        if has_begun or is_refused or clock.seconds() >= one.due:
            self._open.remove(one)
            message = "; ".join(map(_said, one.asked))
            self._inbox.reply(one.request, clock, is_done=not is_refused, message=message)


def _said(asked: Asked) -> str:
    window, kind = asked.window, asked.window.kind.value
    if asked.refusal is not None:
        return f"{kind}: {asked.refusal}"
    seconds, count = window.duration_seconds, window.num_steps
    if asked.began is None:
        length = f"{count} steps" if count > 1 else "a step"
        return f"{kind} follows, for {f'{seconds:g} s' if seconds is not None else length}"
    if seconds is not None:
        return f"{kind} from step {asked.began} on, for {seconds:g} s"
    last = asked.began + count - 1
    return f"{kind} in step {last}" if count == 1 else f"{kind} in steps {asked.began}–{last}"
