"""Exit reasons that a worker recorded after its launcher had already exited.

A launcher uses what is in the store when its command ends. With several nodes, the worker that
failed first may record its failure a moment later.
"""

from collections.abc import Iterable
from dataclasses import replace

from sonde.read.workers import WorkerLife
from sonde.records.job import Exit, ExitReason, JobState
from sonde.records.worker import Failure


def first_failure(lives: Iterable[WorkerLife], attempt: int) -> Failure | None:
    """The first failure of an attempt, ignoring failures that a restart recovered from."""
    last: dict[int, WorkerLife] = {}
    for life in lives:
        previous = last.get(life.info.rank, life)
        if life.info.attempt == attempt and life.info.restart >= previous.info.restart:
            last[life.info.rank] = life
    failures = [life.failure for life in last.values() if life.failure is not None]
    return min(failures, key=lambda life: life.time_ns, default=None)


def explain_exit(exit_: Exit, failure: Failure | None) -> Exit:
    """Add a worker's failure to an exit of which the launcher knew only the code."""
    is_known = exit_.traceback is not None or exit_.reason is not ExitReason.EXIT
    if failure is None or is_known or exit_.state is not JobState.FAILED:
        return exit_
    hint = _hint_in_message(exit_.message) if exit_.hint is None else exit_.hint
    return replace(
        exit_,
        reason=failure.reason,
        message=f"{failure.message}; {hint}" if hint else failure.message,
        traceback="\n".join(filter(None, (failure.traceback, failure.detail))),
        worker=failure.rank,
    )


def failed_collective(failure: Failure) -> str:
    """The collective in which a worker failed; empty if it failed elsewhere."""
    return failure.collective or _collective_in_detail(failure.detail)


def _hint_in_message(message: str | None) -> str:
    """The hint of an exit of version 0.1, which recorded it only as the end of the message."""
    return (message or "").partition("; ")[2]


def _collective_in_detail(detail: str) -> str:
    """The failed collective in a failure of version 0.1, which recorded it only as a sentence."""
    sentence = "in a collective: "
    return detail.removeprefix(sentence) if detail.startswith(sentence) else ""
