"""Identity of this process as a worker: its rank, or the first free number."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count

from sonde.errors import DamagedError, KeyMissingError, StoreError
from sonde.records.step import Mode
from sonde.records.worker import WorkerBeat, WorkerInfo
from sonde.settings import WorkerPlacement
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts


def facts_of(
    worker: WorkerPlacement,
    start_ns: int,
    *,
    framework: str,
    versions: Mapping[str, str],
    device: str,
    device_name: str,
) -> WorkerInfo:
    """Describe this process before it is registered in the store."""
    return WorkerInfo(
        rank=worker.rank if worker.rank is not None else -1,
        node=worker.node,
        attempt=worker.attempt,
        restart=worker.restart,
        pid=os.getpid(),
        start_ns=start_ns,
        world_size=worker.world_size,
        local_rank=worker.local_rank,
        framework=framework,
        versions=versions,
        device=device,
        device_name=device_name,
    )


def claim_worker(backend: Backend, facts: WorkerInfo) -> WorkerInfo:
    """Register the worker in the store; a process without a rank gets the first free one.

    A process that follows another one of the same rank (a restart, the second script of a job)
    counts as a restart of that worker. A process that runs at the same time is another worker.
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
    raise AssertionError("unreachable: ranks are unlimited")


def earlier_counts(backend: Backend, info: WorkerInfo) -> dict[str, int]:
    """The steps that earlier starts of this worker finished, by mode, except training steps.

    Training steps continue from a checkpoint, the others from these counts.
    """
    prefix = "attempt-"
    current = (info.attempt, info.restart)
    starts = []
    try:
        names = backend.folders(layout.worker_folder(info.rank))
    except StoreError:
        return {}
    for name in names:
        attempt, _, restart = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and attempt.isdigit() and restart.isdigit():
            starts.append((int(attempt), int(restart)))
    for start in sorted((start for start in starts if start < current), reverse=True):
        key = layout.worker_key(info.rank, *start, "beat")
        with suppress(StoreError):
            counts = decode_facts(WorkerBeat, backend.read(key), key).steps
            return {mode: count for mode, count in counts.items() if mode != Mode.TRAIN}
    return {}


def _is_alive(backend: Backend, key: str, facts: WorkerInfo) -> bool:
    with suppress(KeyMissingError, DamagedError):
        claimed = decode_facts(WorkerInfo, backend.read(key), key)
        if claimed.node != facts.node:
            return True
        if claimed.pid == facts.pid:
            return False
        try:
            os.kill(claimed.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
    return True
