"""A worker's heartbeat: its progress, and the overhead of its hooks so far."""

from typing import TYPE_CHECKING

from sonde.records.worker import WorkerBeat

if TYPE_CHECKING:
    from sonde.hook.session import Session


def heartbeat_of(session: "Session", *, is_over: bool) -> WorkerBeat:
    """The heartbeat of a session at this moment."""
    overhead, store = session.overhead, session.store
    return WorkerBeat(
        time_ns=session.clock.now_ns(),
        steps=dict(session.steps.counts),
        hook_seconds=overhead.budget.hook_seconds,
        thread_seconds=overhead.budget.thread_seconds,
        training_seconds=overhead.training_seconds,
        bytes_written=store.writer.outbox.bytes_written + store.value_bytes,
        is_over=is_over,
        window=session.windows.running,
    )
