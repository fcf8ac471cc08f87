"""Files in which processes of a job record the exceptions that ended them.

A worker's failure is stored with its other data. The failure of any other Python process is stored
with the node's attempt, because it may not be why the command failed. The same applies to a child
failure, which a process records because one of its children died.
"""

import re
from dataclasses import dataclass

from sonde.store import layout

_FAILURE, _CHILD_FAILURE = "failure", "handed-on"
_PROCESS_FILE = re.compile(rf"{_FAILURE}-(?P<parent>\d+)-(?P<pid>\d+)")
_CHILD_FILE = re.compile(rf"{_CHILD_FAILURE}-(?P<pid>\d+)")


@dataclass(frozen=True, slots=True)
class FailureFile:
    """The process that wrote a failure, parsed from the file name."""

    pid: int
    parent_pid: int | None  # None: the process recorded the failure of a child


def worker_failure_key(rank: int, attempt: int, restart: int) -> str:
    """The failure of one life of a worker."""
    return layout.worker_key(rank, attempt, restart, _FAILURE)


def process_failure_key(node: str, attempt: int, parent_pid: int, pid: int) -> str:
    """The failure of a process that is not a worker."""
    return layout.attempt_key(node, attempt, f"{_FAILURE}-{parent_pid}-{pid}")


def child_failure_key(node: str, attempt: int, pid: int) -> str:
    """The failure of a child process, recorded by the process that it ended."""
    return layout.attempt_key(node, attempt, f"{_CHILD_FAILURE}-{pid}")


def parse_failure_key(key: str) -> FailureFile | None:
    """Parse the key of a process's failure; None for any other document."""
    name = key.rpartition("/")[2].removesuffix(".json")
    if match := _PROCESS_FILE.fullmatch(name):
        return FailureFile(int(match["pid"]), int(match["parent"]))
    if match := _CHILD_FILE.fullmatch(name):
        return FailureFile(int(match["pid"]), None)
    return None
