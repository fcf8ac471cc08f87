"""Who answers requests to a job: its nodes, or its workers."""

from sonde.errors import JobNotRunningError
from sonde.read.jobs import JobFacts
from sonde.records.job import JobState
from sonde.records.request import RequestKind
from sonde.store.control import worker_name


def listeners(facts: JobFacts, kind: RequestKind) -> set[str]:
    """Everybody who has to answer a request; an error where there is nobody."""
    return running_workers(facts) if kind.is_for_workers else running_nodes(facts)


def running_nodes(facts: JobFacts) -> set[str]:
    """The nodes that answer."""
    nodes = {attempt.attempt.node for attempt in facts.latest if attempt.state is JobState.RUNNING}
    if not nodes:
        raise JobNotRunningError(f"Job {facts.name!r} does not run: it is {facts.state.value}.")
    return nodes


def running_workers(facts: JobFacts) -> set[str]:
    """The workers that answer: the last life of each rank, if it is not over."""
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
        raise JobNotRunningError(f"Job {facts.name!r} runs, but nothing trains in it just now.")
    return workers
