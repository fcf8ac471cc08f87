"""A worker stops the job that it belongs to, or ends after a step that is its last one."""

import json
import threading
from typing import TYPE_CHECKING

from sonde.errors import StoppedJobError
from sonde.hook.steps import FinishedStep
from sonde.records.request import Request, RequestKind
from sonde.records.step import Mode
from sonde.store.control import LAST_STEP, PATIENCE, Inbox, replies_to, send_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.hook.session import Session

_PATIENCE_SECONDS = 60.0  # for the script to put its things in order
_REPLY_SECONDS = 3.0
_POLL_SECONDS = 0.05
_NEAR_SECONDS = 30.0  # for so long after it was asked where it is, every step is watched closely
_MEETING_SECONDS = 5.0
_LEFT = "it has ended after step"


def stop_job(session: "Session", reason: str) -> None:
    """Tells all nodes that the job ends by itself, and waits a little until this one has heard."""
    clock = session.clock
    arguments = {"by": reason, PATIENCE: f"{_PATIENCE_SECONDS:g}"}
    request = send_request(session.store.backend, clock, RequestKind.STOP, arguments)
    deadline, never = clock.seconds() + _REPLY_SECONDS, threading.Event()
    while session.store.place.node not in replies_to(session.store.backend, request):
        if clock.seconds() >= deadline:
            return
        clock.wait(never, _POLL_SECONDS)


class LastStep:
    """Ends the process between two steps, and all workers of the job after the same one.

    Who stops a job asks all workers first at which step they are, and names one that none of them
    has reached: left alone, a worker would wait for the others in a collective for ever.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._near_until = 0.0
        self._request: Request | None = None
        # a framework may know better
        self.count_workers: Callable[[], int] = lambda: session.store.place.world_size

    @property
    def is_near(self) -> bool:
        """Whether somebody is about to name the last step, or has named it."""
        is_asked = self._near_until and self._session.clock.seconds() < self._near_until
        return self._request is not None or bool(is_asked)

    def watch_closely(self) -> None:
        """From the next step on, each is seen as it ends; said by any thread."""
        self._near_until = self._session.clock.seconds() + _NEAR_SECONDS
        self._session.windows.notify_request()

    def place(self) -> str:
        """Where this worker is, for those who name the last step."""
        steps = self._session.steps
        return json.dumps(
            {
                "step": steps.counts[Mode.TRAIN.value],
                "seconds": steps.latest_seconds,
                "workers": self.count_workers(),
            }
        )

    def name(self, request: Request, inbox: Inbox) -> None:
        """The last step is named; said by any thread."""
        if self._request is None:  # a second one could be heard by some workers too late
            self._request, self._inbox = request, inbox
            self._number = int(request.arguments[LAST_STEP])
            self._session.listeners.on_step("the stop", self._step_over)
        self.watch_closely()
        inbox.reply(request, self._session.clock, is_done=True, message="it ends after a step")

    def _step_over(self, step: FinishedStep) -> None:
        session = self._session
        if not session.recorder.is_live:
            return
        is_alone = self.count_workers() == 1
        if is_alone or (step.mode == Mode.TRAIN.value and step.number >= self._number):
            self._leave(step.number)

    def _leave(self, number: int) -> None:
        session, request = self._session, self._request
        assert request is not None
        session.close()
        session.guard.call("the stop", lambda: self._meet(request, number), None)
        raise StoppedJobError(
            request.arguments.get("by", "a request"), f"the job is stopped after step {number}"
        )

    def _meet(self, request: Request, number: int) -> None:
        """Waits a little for the others: launchers end all as soon as the first has left."""
        session, clock = self._session, self._session.clock
        self._inbox.reply(request, clock, is_done=True, message=f"{_LEFT} {number}")
        deadline, never = clock.seconds() + _MEETING_SECONDS, threading.Event()
        while clock.seconds() < deadline:
            replies = replies_to(session.store.backend, request).values()
            if sum(_LEFT in one.message for one in replies) >= self.count_workers():
                return
            clock.wait(never, _POLL_SECONDS)
