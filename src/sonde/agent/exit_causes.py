"""Find the failure that ended a command, among those that the processes of an attempt recorded.

The earliest failure of a worker or of the command itself is the cause; later failures follow from
it. Other processes may fail without harm, so their failures count only if there is no such failure.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sonde.errors import StoreError
from sonde.records.worker import Failure
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts
from sonde.store.failure_files import FailureFile, parse_failure_key, worker_failure_key

_RESTART_FOLDER = re.compile(r"attempt-(?P<attempt>\d+)\.(?P<restart>\d+)")


@dataclass(frozen=True, slots=True)
class _Failures:
    """The recorded failures, by the kind of process that recorded them."""

    workers: list[Failure] = field(default_factory=list)
    command: list[Failure] = field(default_factory=list)
    by_parent: list[tuple[int, Failure]] = field(default_factory=list)  # of other processes
    of_children: list[tuple[int, Failure]] = field(default_factory=list)  # by reporting process


def find_cause(backend: Backend, attempt: tuple[str, int], command_pid: int) -> Failure | None:
    """Find the cause of a failed attempt; None if no process recorded a failure.

    Args:
        backend: The job's store.
        attempt: The node and the number of its attempt.
        command_pid: The process that the launcher started.
    """
    failures = _Failures()
    failures.workers.extend(_worker_failures(backend, attempt[1]))
    for file, failure in _process_failures(backend, attempt):
        if file.parent_pid is None:
            failures.of_children.append((file.pid, failure))
        elif file.pid == command_pid:
            failures.command.append(failure)
        else:
            failures.by_parent.append((file.parent_pid, failure))
    return _first([*failures.workers, *failures.command]) or _other_cause(failures)


def _other_cause(failures: _Failures) -> Failure | None:
    """Return the first failure of a process whose parent reported it, or the last failure."""
    parents = {pid for pid, _ in failures.of_children}
    children = [failure for parent, failure in failures.by_parent if parent in parents]
    by_time = sorted((failure for _, failure in failures.by_parent), key=_time)
    return _first(children) or (
        by_time[-1] if by_time else _first(failure for _, failure in failures.of_children)
    )


def _first(failures: Iterable[Failure]) -> Failure | None:
    return min(failures, key=_time, default=None)


def _time(failure: Failure) -> int:
    return failure.time_ns


def _worker_failures(backend: Backend, attempt: int) -> Iterator[Failure]:
    """Yield the failure of each rank's last restart: the job survived earlier failures."""
    for rank in backend.folders(layout.WORKERS):
        matches = map(_RESTART_FOLDER.fullmatch, backend.folders(f"{layout.WORKERS}/{rank}"))
        restarts = [
            int(match["restart"]) for match in matches if match and int(match["attempt"]) == attempt
        ]
        if restarts and rank.isdecimal():
            yield from _read(backend, worker_failure_key(int(rank), attempt, max(restarts)))


def _process_failures(
    backend: Backend, attempt: tuple[str, int]
) -> Iterator[tuple[FailureFile, Failure]]:
    folder = layout.attempt_key(*attempt, "").rpartition("/")[0]
    for entry in backend.entries(folder):
        file = parse_failure_key(entry.key)
        if file is not None:
            for failure in _read(backend, entry.key):
                yield file, failure


def _read(backend: Backend, key: str) -> Iterator[Failure]:
    try:
        yield decode_facts(Failure, backend.read(key), key)
    except StoreError:  # missing, or truncated because its process was killed
        return
