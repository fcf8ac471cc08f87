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
    nodes = {one.attempt.node for one in facts.latest if one.state is JobState.RUNNING}
    if not nodes:
        raise JobNotRunningError(f"Job {facts.name!r} does not run: it is {facts.state.value}.")
    return nodes


def running_workers(facts: JobFacts) -> set[str]:
    """The workers that answer: the last life of each rank, if it is not over."""
    nodes = running_nodes(facts)
    attempts = {one.attempt.number for one in facts.latest}
    lives = {one.info.rank: one for one in sorted(facts.lives, key=lambda one: one.info.start_ns)}
    workers = {
        worker_name(rank)
        for rank, one in lives.items()
        if one.info.attempt in attempts
        and one.info.node in nodes
        and one.failure is None
        and not (one.beat and one.beat.is_over)
    }
    if not workers:
        raise JobNotRunningError(f"Job {facts.name!r} runs, but nothing trains in it just now.")
    return workers
