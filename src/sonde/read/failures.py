"""Why a job ended, where a worker said so too late for its launcher to hear it.

A launcher judges with what is in the store when its command has ended. With several nodes, the
worker that failed first may write down why a moment later.
"""

from collections.abc import Iterable
from dataclasses import replace

from sonde.read.workers import WorkerLife
from sonde.records.job import Exit, ExitReason, JobState
from sonde.records.worker import Failure


def first_failure(lives: Iterable[WorkerLife], attempt: int) -> Failure | None:
    """What went wrong first in an attempt; what a rank has come back from does not count."""
    last: dict[int, WorkerLife] = {}
    for one in lives:
        known = last.get(one.info.rank, one)
        if one.info.attempt == attempt and one.info.restart >= known.info.restart:
            last[one.info.rank] = one
    failures = [one.failure for one in last.values() if one.failure is not None]
    return min(failures, key=lambda one: one.time_ns, default=None)


def explain(exit_: Exit, failure: Failure | None) -> Exit:
    """The exit with a worker's reason for it, where the launcher knew no more than its code."""
    is_known = exit_.traceback is not None or exit_.reason is not ExitReason.EXIT
    if failure is None or is_known or exit_.state is not JobState.FAILED:
        return exit_
    hint = (exit_.message or "").partition("; ")[2]
    return replace(
        exit_,
        reason=failure.reason,
        message=f"{failure.message}; {hint}" if hint else failure.message,
        traceback="\n".join(filter(None, (failure.traceback, failure.detail))),
        worker=failure.rank,
    )
