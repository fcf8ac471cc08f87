"""A worker's sign of life: how far it is, and what the hook inside it has cost so far."""

from typing import TYPE_CHECKING

from sonde.records.worker import WorkerBeat

if TYPE_CHECKING:
    from sonde.collect.session import Session


def beat_of(session: "Session", *, is_over: bool) -> WorkerBeat:
    """The sign of life that a session gives at this moment."""
    budget = session.budget
    return WorkerBeat(
        time_ns=session.clock.now_ns(),
        steps=dict(session.steps.counts),
        hook_seconds=budget.hook_seconds,
        thread_seconds=budget.thread_seconds,
        training_seconds=session.training_seconds,
        bytes_written=session.writer.outbox.bytes_written + session.value_bytes,
        is_over=is_over,
        window=session.windows.running,
    )
