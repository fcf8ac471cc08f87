"""`stop`: stop the job."""

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
from sonde.settings.checks import duration, text
from sonde.store.control import (
    FROM_WORKER,
    LAST_STEP,
    PATIENCE,
    read_requests,
    replies_to,
    send_request,
)

_POLL_SECONDS = 0.1
_ANSWER_SECONDS = 3.0  # for workers to report their step, in addition to store delays
_SPARE_SECONDS = 3.0  # for all workers to learn the last step before they reach it
_MAX_REASON_LENGTH = 500


@dataclass(frozen=True, slots=True)
class _WorkerStep:
    """The current step of a worker."""

    step: int
    seconds: float  # per step
    workers: int  # in the training group


class Stop(Action):
    """Stop the job after the same step on all workers; by force if it does not end."""

    keys: ClassVar[tuple[Key, ...]] = (
        key(
            *("patience", duration, '"60s"', "time for the step to end before SIGTERM is sent"),
            "patience_seconds",
        ),
        key(
            "grace", duration, '"10s"', "time after SIGTERM before SIGKILL is sent", "grace_seconds"
        ),
        key("job_prefix", text, "", "stop only if the name of the job starts with this"),
    )
    # stopping a healthy job would be the worst failure
    default_severity: ClassVar[Severity] = Severity.CRITICAL
    default_cool_down_seconds: ClassVar[float] = 0.0
    affects_job: ClassVar[bool] = True
    runs_once: ClassVar[bool] = True

    patience_seconds: float = 60.0
    grace_seconds: float = 10.0
    job_prefix: str = ""

    def perform(self, occasion: Occasion) -> str:
        if not occasion.job.startswith(self.job_prefix):
            return f"not stopped: {occasion.job} does not start with {self.job_prefix!r}"
        finding = occasion.episode.finding
        summary = " ".join(finding.message.split()).rstrip(".")
        reason = f"{finding.rule}: {summary}"[:_MAX_REASON_LENGTH]
        arguments = {"by": reason, "grace_seconds": f"{self.grace_seconds:g}"}
        worker_steps = self._worker_steps(occasion)
        if worker_steps and len(worker_steps) >= max(each.workers for each in worker_steps):
            last = _last_step(worker_steps, _SPARE_SECONDS + 3 * occasion.backend.poll_seconds)
            arguments |= {LAST_STEP: str(last), PATIENCE: f"{self.patience_seconds:g}"}
            message = (
                f"the job stops after step {last}" if last else "the job stops after this step"
            )
        else:  # no training, or not all workers reply
            message = "sent SIGTERM"
        send_request(occasion.backend, occasion.clock, RequestKind.STOP, arguments)
        return message

    def already_done(self, occasion: Occasion) -> str:
        prefix = f"{occasion.episode.finding.rule}: "
        requests = read_requests(occasion.backend, RequestKind.STOP, occasion.since_ns)
        is_stopped = any(
            FROM_WORKER in request.arguments or request.arguments.get("by", "").startswith(prefix)
            for request in requests
        )
        return "the training process stopped the job" if is_stopped else ""

    def trial(self, occasion: Occasion) -> str:
        return f"not stopped (test); would stop for: {one_line(occasion)}"

    def _worker_steps(self, occasion: Occasion) -> list[_WorkerStep]:
        """The current steps of all workers that reply in time."""
        backend, clock = occasion.backend, occasion.clock
        request = send_request(backend, clock, RequestKind.PLACE, {})
        deadline = clock.seconds() + _ANSWER_SECONDS + 3 * backend.poll_seconds
        never_set = threading.Event()
        while True:
            replies = replies_to(backend, request).values()
            worker_steps = [_WorkerStep(**json.loads(reply.message)) for reply in replies]
            if worker_steps and len(worker_steps) >= max(each.workers for each in worker_steps):
                return worker_steps
            if clock.seconds() >= deadline:
                return worker_steps
            clock.wait(never_set, min(_POLL_SECONDS, backend.poll_seconds))


def _last_step(worker_steps: Sequence[_WorkerStep], spare_seconds: float) -> int:
    """A step that no worker reaches before all are notified; 0 if each may stop on its own."""
    if all(each.workers == 1 for each in worker_steps):
        return 0
    fastest_seconds = min(
        (each.seconds for each in worker_steps if each.seconds > 0), default=spare_seconds
    )
    return max(each.step for each in worker_steps) + max(
        2, math.ceil(spare_seconds / fastest_seconds)
    )
