"""Stop the job from inside a worker, or end the worker after an agreed last step."""

import json
import threading
from typing import TYPE_CHECKING

from sonde.errors import StoppedJobError
from sonde.hook.steps import FinishedStep
from sonde.records.request import Request, RequestKind
from sonde.records.step import Mode
from sonde.store.control import FROM_WORKER, LAST_STEP, PATIENCE, Inbox, replies_to, send_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.hook.session import Session

_PATIENCE_SECONDS = 60.0  # for the script to clean up
_REPLY_SECONDS = 3.0
_POLL_SECONDS = 0.05
_NEAR_SECONDS = 30.0  # after a progress request, every step is recorded live for this long
_RENDEZVOUS_SECONDS = 5.0
_ENDED = "ended after step"


def stop_job(session: "Session", reason: str) -> None:
    """Request all nodes to stop the job, and wait briefly for this node's reply."""
    clock, rank = session.clock, session.store.worker.rank
    arguments = {
        "by": reason,
        PATIENCE: f"{_PATIENCE_SECONDS:g}",
        FROM_WORKER: str(rank or 0),
    }
    request = send_request(session.store.backend, clock, RequestKind.STOP, arguments)
    deadline, never = clock.seconds() + _REPLY_SECONDS, threading.Event()
    while session.store.worker.node not in replies_to(session.store.backend, request):
        if clock.seconds() >= deadline:
            return
        clock.wait(never, _POLL_SECONDS)


class LastStep:
    """Ends the process between two steps, after the same step in all workers of the job.

    The launcher first requests the progress of all workers, then sets a last step that no worker
    has reached. Otherwise, a worker could wait for the others in a collective forever.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._near_until = 0.0
        self._request: Request | None = None
        # replaced by adapters that know the framework's own count
        self.count_workers: Callable[[], int] = lambda: session.store.worker.world_size

    @property
    def is_near(self) -> bool:
        """Whether the last step is set, or about to be set."""
        is_expected = self._near_until and self._session.clock.seconds() < self._near_until
        return self._request is not None or bool(is_expected)

    def record_live(self) -> None:
        """Record the next steps as they end, without deferring; callable from any thread."""
        self._near_until = self._session.clock.seconds() + _NEAR_SECONDS
        self._session.windows.notify_request()

    def progress(self) -> str:
        """JSON with this worker's progress, used to choose the last step."""
        steps = self._session.steps
        return json.dumps(
            {
                "step": steps.counts[Mode.TRAIN.value],
                "seconds": steps.latest_seconds,
                "workers": self.count_workers(),
            }
        )

    def set(self, request: Request, inbox: Inbox) -> None:
        """Set the last step; callable from any thread."""
        if self._request is None:  # a second request could reach some workers too late
            self._request, self._inbox = request, inbox
            self._number = int(request.arguments[LAST_STEP])
            self._session.listeners.on_step("the stop", self._after_step)
        self.record_live()
        message = f"ends after step {self._number}"
        inbox.reply(request, self._session.clock, is_done=True, message=message)

    def _after_step(self, step: FinishedStep) -> None:
        session = self._session
        if not session.recorder.is_live:
            return
        is_alone = self.count_workers() == 1
        if is_alone or (step.mode == Mode.TRAIN.value and step.number >= self._number):
            self._exit(step.number)

    def _exit(self, number: int) -> None:
        session, request = self._session, self._request
        assert request is not None
        session.close()
        session.guard.call("the stop", lambda: self._rendezvous(request, number), None)
        reason = request.arguments.get("by", "a request")
        raise StoppedJobError(reason, f"job stopped after step {number}")

    def _rendezvous(self, request: Request, number: int) -> None:
        """Wait briefly for the other workers, because launchers kill all of them once one exits."""
        session, clock = self._session, self._session.clock
        self._inbox.reply(request, clock, is_done=True, message=f"{_ENDED} {number}")
        deadline, never = clock.seconds() + _RENDEZVOUS_SECONDS, threading.Event()
        while clock.seconds() < deadline:
            replies = replies_to(session.store.backend, request).values()
            if sum(_ENDED in reply.message for reply in replies) >= self.count_workers():
                return
            clock.wait(never, _POLL_SECONDS)
