"""Of all that the processes of an attempt have said about their deaths: what the command died of.

Worth most is what workers and the command itself say, and of that the first: the others died of it.
Another process may fail without any harm, so it counts only if none of these has said anything.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sonde.collect.failure import HANDED_ON, OWN
from sonde.errors import StoreError
from sonde.records.worker import Failure
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts

_OF_A_PROCESS = re.compile(rf"{OWN}-(?P<parent>\d+)-(?P<pid>\d+)")
_OF_ITS_CHILD = re.compile(rf"{HANDED_ON}-(?P<pid>\d+)")
_LIFE = re.compile(r"attempt-(?P<attempt>\d+)\.(?P<restart>\d+)")


@dataclass(frozen=True, slots=True)
class _Said:
    """What was found, by who said it."""

    by_workers: list[Failure] = field(default_factory=list)
    by_command: list[Failure] = field(default_factory=list)
    by_others: list[tuple[int, Failure]] = field(default_factory=list)  # with the parent
    handed_on: list[tuple[int, Failure]] = field(default_factory=list)  # with the process


def find_cause(backend: Backend, attempt: tuple[str, int], command_pid: int) -> Failure | None:
    """What an attempt of a node, whose command has failed, died of; None if nobody said it.

    Args:
        backend: The job's place.
        attempt: The node and the number of its attempt.
        command_pid: The process that the launcher had started.
    """
    said = _Said()
    said.by_workers.extend(_failures_of_workers(backend, attempt[1]))
    for file, failure in _failures_of_processes(backend, attempt):
        if own := _OF_A_PROCESS.fullmatch(file):
            if int(own["pid"]) == command_pid:
                said.by_command.append(failure)
            else:
                said.by_others.append((int(own["parent"]), failure))
        elif of_child := _OF_ITS_CHILD.fullmatch(file):
            said.handed_on.append((int(of_child["pid"]), failure))
    return _first([*said.by_workers, *said.by_command]) or _of_others(said)


def _of_others(said: _Said) -> Failure | None:
    """The first child of a process that died of its children, else whoever came last."""
    parents = {pid for pid, _ in said.handed_on}
    children = [failure for parent, failure in said.by_others if parent in parents]
    others = sorted((failure for _, failure in said.by_others), key=_time)
    return _first(children) or (
        others[-1] if others else _first(failure for _, failure in said.handed_on)
    )


def _first(failures: Iterable[Failure]) -> Failure | None:
    return min(failures, key=_time, default=None)


def _time(failure: Failure) -> int:
    return failure.time_ns


def _failures_of_workers(backend: Backend, attempt: int) -> Iterator[Failure]:
    """Of each rank's last life: what earlier ones died of was survived."""
    for rank in backend.folders(layout.WORKERS):
        found = map(_LIFE.fullmatch, backend.folders(f"{layout.WORKERS}/{rank}"))
        lives = [int(one["restart"]) for one in found if one and int(one["attempt"]) == attempt]
        if lives and rank.isdecimal():
            yield from _read(backend, layout.worker_key(int(rank), attempt, max(lives), OWN))


def _failures_of_processes(
    backend: Backend, attempt: tuple[str, int]
) -> Iterator[tuple[str, Failure]]:
    folder = layout.attempt_key(*attempt, "").rpartition("/")[0]
    for entry in backend.entries(folder):
        file = entry.key.rpartition("/")[2].removesuffix(".json")
        if file.startswith((f"{OWN}-", f"{HANDED_ON}-")):
            for failure in _read(backend, entry.key):
                yield file, failure


def _read(backend: Backend, key: str) -> Iterator[Failure]:
    try:
        yield decode_facts(Failure, backend.read(key), key)
    except StoreError:  # there is none, or it was cut short together with its process
        return
