"""`stop`: ends the job."""

import json
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sonde.actions._action import Action, Occasion, key
from sonde.actions._message import one_line
from sonde.records.finding import Severity
from sonde.records.request import RequestKind
from sonde.settings import Key
from sonde.settings.checks import duration
from sonde.store.control import LAST_STEP, PATIENCE, read_requests, replies_to, send_request

_POLL_SECONDS = 0.1
_ANSWER_SECONDS = 3.0  # for workers to say where they are, beside what the store takes
_SPARE_SECONDS = 3.0  # for the last step to be known to all of them before it comes
_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a worker is."""

    step: int
    seconds: float  # of a step
    workers: int  # that train together


class Stop(Action):
    """End the job after a step, all workers after the same one; by force where it does not."""

    keys: ClassVar[tuple[Key, ...]] = (
        key(
            *("patience", duration, '"60s"', "for a step to end; then SIGTERM is sent"),
            "patience_seconds",
        ),
        key("grace", duration, '"10s"', "after SIGTERM; then SIGKILL is sent", "grace_seconds"),
    )
    # to stop a healthy job is the worst that we can do
    usual_severity: ClassVar[Severity] = Severity.CRITICAL
    usual_cool_down_seconds: ClassVar[float] = 0.0
    is_on_the_job: ClassVar[bool] = True
    is_once: ClassVar[bool] = True

    patience_seconds: float = 60.0
    grace_seconds: float = 10.0

    def perform(self, occasion: Occasion) -> str:
        finding = occasion.episode.finding
        said = " ".join(finding.message.split()).rstrip(".")  # a part of a sentence from now on
        reason = f"{finding.rule}: {said}"[:_LONGEST_REASON]
        arguments = {"by": reason, "grace_seconds": f"{self.grace_seconds:g}"}
        places = self._places(occasion)
        if places and len(places) >= max(one.workers for one in places):
            last = _last_step(places, _SPARE_SECONDS + 3 * occasion.backend.poll_seconds)
            arguments |= {LAST_STEP: str(last), PATIENCE: f"{self.patience_seconds:g}"}
            said = f"the job ends after step {last}" if last else "the job ends after this step"
        else:  # nothing trains there, or not all of it answers
            said = "SIGTERM is sent"
        send_request(occasion.backend, occasion.clock, RequestKind.STOP, arguments)
        return said

    def done_before(self, occasion: Occasion) -> str:
        prefix = f"{occasion.episode.finding.rule}: "
        requests = read_requests(occasion.backend, RequestKind.STOP, occasion.since_ns)
        reasons = [request.arguments.get("by", "") for request in requests]
        is_stopped = any(reason.startswith(prefix) for reason in reasons)
        return "the training process stopped the job itself" if is_stopped else ""

    def trial(self, occasion: Occasion) -> str:
        return f"nothing is stopped; it would be for: {one_line(occasion)}"

    def _places(self, occasion: Occasion) -> list[_Place]:
        """Where all workers are, as far as they answer in time."""
        backend, clock = occasion.backend, occasion.clock
        request = send_request(backend, clock, RequestKind.PLACE, {})
        deadline = clock.seconds() + _ANSWER_SECONDS + 3 * backend.poll_seconds
        never = threading.Event()
        while True:
            answers = replies_to(backend, request).values()
            places = [_Place(**json.loads(one.message)) for one in answers]
            if places and len(places) >= max(one.workers for one in places):
                return places
            if clock.seconds() >= deadline:
                return places
            clock.wait(never, min(_POLL_SECONDS, backend.poll_seconds))


def _last_step(places: Sequence[_Place], spare_seconds: float) -> int:
    """A step that none of the workers reaches before all have heard of it; 0: each its next."""
    if all(one.workers == 1 for one in places):
        return 0
    pace = min((one.seconds for one in places if one.seconds > 0), default=spare_seconds)
    return max(one.step for one in places) + max(2, math.ceil(spare_seconds / pace))
