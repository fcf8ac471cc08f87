"""The nodes or workers that answer requests to a job."""

from sonde.errors import JobNotRunningError
from sonde.read.jobs import JobFacts
from sonde.records.job import JobState
from sonde.records.request import RequestKind
from sonde.store.control import worker_name


def listeners(facts: JobFacts, kind: RequestKind) -> set[str]:
    """The nodes or workers that must answer a request.

    Raises:
        JobNotRunningError: None is running.
    """
    return running_workers(facts) if kind.is_for_workers else running_nodes(facts)


def running_nodes(facts: JobFacts) -> set[str]:
    """The running nodes."""
    nodes = {attempt.attempt.node for attempt in facts.latest if attempt.state is JobState.RUNNING}
    if not nodes:
        raise JobNotRunningError(f"Job {facts.name!r} is not running ({facts.state.value}).")
    return nodes


def running_workers(facts: JobFacts) -> set[str]:
    """The running workers: the last start of each rank, if it has not ended."""
    nodes = running_nodes(facts)
    attempts = {worker.attempt.number for worker in facts.latest}
    lives = {
        worker.info.rank: worker
        for worker in sorted(facts.lives, key=lambda worker: worker.info.start_ns)
    }
    workers = {
        worker_name(rank)
        for rank, worker in lives.items()
        if worker.info.attempt in attempts
        and worker.info.node in nodes
        and worker.failure is None
        and not (worker.beat and worker.beat.is_over)
    }
    if not workers:
        raise JobNotRunningError(f"Job {facts.name!r} is running, but no process is training.")
    return workers
