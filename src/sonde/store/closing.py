"""The closing document of an attempt: how it ended, and which files were recorded until then.

The launcher writes it last. Readers compare: a file that was there and is not, or is shorter, was
lost later. It repeats how the attempt began and ended, so that neither hangs on one file.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.records.job import Attempt, Exit
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts

CLOSING = "closing"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file, and how many bytes of it were written."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Closing:
    """What an attempt left on one node."""

    time_ns: int
    attempt: Attempt
    exit: Exit
    files: tuple[WrittenFile, ...]


def closing_key(node: str, number: int) -> str:
    """Where the closing document of an attempt lies."""
    return layout.attempt_key(node, number, CLOSING)


def write_closing(
    backend: Backend, attempt: Attempt, exit_: Exit, time_ns: int, *, with_workers: bool
) -> None:
    """Writes down what there is now.

    Args:
        backend: The job.
        attempt: The attempt that has ended.
        exit_: How.
        time_ns: The present instant.
        with_workers: Whether to list what workers wrote, too: one node of a job does.
    """
    key = closing_key(attempt.node, attempt.number)
    files = tuple(one for one in _files(backend, attempt, with_workers) if one.key != key)
    closing = Closing(time_ns, attempt, exit_, files)
    backend.write(key, encode_facts(closing, key))


def _files(backend: Backend, attempt: Attempt, with_workers: bool) -> Iterator[WrittenFile]:
    folders = [layout.node_folder(attempt.node)]
    if with_workers:
        folders.append(layout.WORKERS)
        yield WrittenFile(layout.JOB, 0)
    for folder in folders:
        for entry in backend.entries(folder):
            if not entry.key.endswith("/reserve"):
                yield WrittenFile(entry.key, entry.size)
