"""Decode the pending profiler traces of a job."""

from sonde.agent.trace_decoding import decode_waiting
from sonde.clock import SystemClock
from sonde.read.jobs import JobFacts, read_job
from sonde.store.backends import Backend
from sonde.store.waiting_traces import waiting_traces


def decode_traces(backend: Backend, node: str | None) -> int:
    """Decode the pending traces of a node's workers, or of all; return their number."""
    if not any(waiting_traces(backend)):
        return 0
    clock = SystemClock()
    ranks = ranks_of(read_job(backend, clock.now_ns()), node)
    return sum(decode_waiting(backend, rank, clock) for rank in ranks)


def ranks_of(facts: JobFacts, node: str | None) -> list[int]:
    """The workers that last ran on a node, or all."""
    return [int(rank) for rank in facts.workers if node in (None, node_of(facts, rank))]


def node_of(facts: JobFacts, rank: str) -> str:
    """The last node of a worker; empty if unknown."""
    lives = [life.info for life in facts.lives if life.info.rank == int(rank)]
    return max(lives, key=lambda life: life.start_ns).node if lives else ""
