"""Which worker this process is: its rank, or the first number that is free."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count

from sonde.errors import DamagedError, KeyMissingError, StoreError
from sonde.records.step import Mode
from sonde.records.worker import WorkerBeat, WorkerInfo
from sonde.settings import WorkerPlace
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts


def facts_of(
    place: WorkerPlace, start_ns: int, *, framework: str, versions: Mapping[str, str], device: str
) -> WorkerInfo:
    """What a process knows about itself before it has its place in the store."""
    return WorkerInfo(
        rank=place.rank if place.rank is not None else -1,
        node=place.node,
        attempt=place.attempt,
        restart=place.restart,
        pid=os.getpid(),
        start_ns=start_ns,
        world_size=place.world_size,
        local_rank=place.local_rank,
        framework=framework,
        versions=versions,
        device=device,
    )


def claim_worker(backend: Backend, facts: WorkerInfo) -> WorkerInfo:
    """Takes the worker's place in the store; facts without a rank get the first that is free.

    A process that follows another one of the same rank (a restart, the second script of a job) is
    the next life of that worker; one that runs beside it is another worker.
    """
    is_ranked = facts.rank >= 0
    for rank in [facts.rank] if is_ranked else count():
        for restart in count(facts.restart):
            claim = replace(facts, rank=rank, restart=restart)
            key = layout.worker_key(rank, claim.attempt, restart, "start")
            if backend.create(key, encode_facts(claim, key)):
                return claim
            if not is_ranked and _is_alive(backend, key, facts):
                break
    raise AssertionError("numbers do not run out")


def earlier_counts(backend: Backend, info: WorkerInfo) -> dict[str, int]:
    """How many steps of each mode but training an earlier life of this worker had done.

    Training steps go on from a checkpoint, others from here: none of them is done twice.
    """
    prefix = "attempt-"
    own = (info.attempt, info.restart)
    lives = []
    try:
        names = backend.folders(layout.worker_folder(info.rank))
    except StoreError:
        return {}
    for name in names:
        attempt, _, restart = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and attempt.isdigit() and restart.isdigit():
            lives.append((int(attempt), int(restart)))
    for life in sorted((life for life in lives if life < own), reverse=True):
        key = layout.worker_key(info.rank, *life, "beat")
        with suppress(StoreError):
            counts = decode_facts(WorkerBeat, backend.read(key), key).steps
            return {mode: count for mode, count in counts.items() if mode != Mode.TRAIN}
    return {}


def _is_alive(backend: Backend, key: str, facts: WorkerInfo) -> bool:
    with suppress(KeyMissingError, DamagedError):
        other = decode_facts(WorkerInfo, backend.read(key), key)
        if other.node != facts.node:
            return True
        if other.pid == facts.pid:
            return False
        try:
            os.kill(other.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
    return True
