"""Identity of a process as a worker."""

import os
from dataclasses import replace

import pytest

from sonde.hook.identity import claim_worker, earlier_counts
from sonde.records.worker import WorkerBeat, WorkerInfo
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import encode_facts

UNUSED_PID = 2**22 + 1  # larger than any process ID
FACTS = WorkerInfo(
    rank=-1, node="node-a", attempt=1, restart=0, pid=os.getpid(), start_ns=1, world_size=1
)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(f"memory://identity/{request.node.name}")


def test_without_a_rank_the_first_process_is_worker_zero(backend: Backend) -> None:
    assert claim_worker(backend, FACTS).rank == 0


def test_process_that_runs_at_the_same_time_is_the_next_worker(backend: Backend) -> None:
    claim_worker(backend, replace(FACTS, pid=os.getppid()))

    claimed = claim_worker(backend, FACTS)

    assert (claimed.rank, claimed.restart) == (1, 0)


def test_process_that_follows_another_is_a_restart_of_the_same_worker(backend: Backend) -> None:
    claim_worker(backend, replace(FACTS, pid=UNUSED_PID))

    claimed = claim_worker(backend, FACTS)

    assert (claimed.rank, claimed.restart) == (0, 1)


def test_worker_of_another_node_counts_as_alive(backend: Backend) -> None:
    claim_worker(backend, replace(FACTS, pid=UNUSED_PID, node="node-b"))

    assert claim_worker(backend, FACTS).rank == 1


def test_assigned_rank_is_used(backend: Backend) -> None:
    ranked = replace(FACTS, rank=5, restart=2)

    first = claim_worker(backend, replace(ranked, pid=os.getppid()))
    second = claim_worker(backend, ranked)

    assert (first.rank, first.restart) == (5, 2)
    assert (second.rank, second.restart) == (5, 3)


def test_step_counts_of_the_previous_start_are_found(backend: Backend) -> None:
    for attempt, restart, count in ((1, 0, 5), (1, 1, 7), (2, 0, 9)):
        beat = WorkerBeat(1, {"train": 10, "eval": count}, 0.0, 0.0, 0.0, 0)
        backend.write(layout.worker_key(0, attempt, restart, "beat"), encode_facts(beat))

    def counts(attempt: int, restart: int) -> dict[str, int]:
        info = replace(FACTS, rank=0, attempt=attempt, restart=restart)
        return earlier_counts(backend, info)

    assert counts(1, 0) == {}
    assert counts(1, 1)["eval"] == 5
    assert counts(2, 0)["eval"] == 7
    assert counts(3, 0)["eval"] == 9
