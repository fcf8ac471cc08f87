"""The closing document of an attempt: how it ended, and which files it recorded.

The launcher writes it last. Readers use it to detect files that are missing or truncated. It
repeats start and exit of the attempt, so that neither depends on a single file.

Processes that decode traces and run rules write later: they keep their own lists of files, one per
trace and one for all findings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sonde.errors import DamagedError, KeyMissingError
from sonde.records.job import Attempt, Exit
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts

CLOSING = "closing"
JOB_DOCUMENTS = (layout.JOB, layout.EXIT)  # outside of the folders of nodes and workers


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file and its size when it was written."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Closing:
    """The files and the exit of an attempt on one node."""

    time_ns: int
    attempt: Attempt
    exit: Exit
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, slots=True)
class LaterFiles:
    """Files written after an attempt was closed."""

    files: tuple[WrittenFile, ...]


def closing_key(node: str, number: int) -> str:
    """The key of the closing document of an attempt."""
    return layout.attempt_key(node, number, CLOSING)


def write_closing(
    backend: Backend, attempt: Attempt, exit_: Exit, time_ns: int, *, with_workers: bool
) -> None:
    """Write the closing document.

    Args:
        backend: The job.
        attempt: The attempt.
        exit_: How it ended.
        time_ns: The current time.
        with_workers: Whether to include files of workers; one node of a job does.
    """
    key = closing_key(attempt.node, attempt.number)
    files = tuple(file for file in _files(backend, attempt, with_workers) if file.key != key)
    closing = Closing(time_ns, attempt, exit_, files)
    backend.write(key, encode_facts(closing, key))


def list_logs(backend: Backend, key: str, folders: Sequence[str], writer: str = "") -> None:
    """Write a list of the logs in folders, merged with an earlier list.

    Args:
        backend: The job.
        key: The key of the list.
        folders: The folders with logs.
        writer: Only include logs of this writer; empty for all.
    """
    sizes = {file.key: file.size for file in _listed(backend, key)}
    for folder in folders:
        for entry in backend.entries(folder):
            if _is_log_of(writer, entry.key):
                sizes[entry.key] = max(entry.size, sizes.get(entry.key, 0))
    files = tuple(WrittenFile(*item) for item in sizes.items())
    backend.write(key, encode_facts(LaterFiles(files), key))


def _listed(backend: Backend, key: str) -> tuple[WrittenFile, ...]:
    try:
        return decode_facts(LaterFiles, backend.read(key), key).files
    except (KeyMissingError, DamagedError):
        return ()


def _is_log_of(writer: str, key: str) -> bool:
    file = key.rpartition("/")[2]
    name = layout.SegmentName.parse(file.removesuffix(layout.LIVE_SUFFIX))
    if name is None or not file.endswith(layout.LIVE_SUFFIX):
        return False
    return writer in ("", name.writer.partition("-")[0])


def _files(backend: Backend, attempt: Attempt, with_workers: bool) -> Iterator[WrittenFile]:
    folders = [layout.node_folder(attempt.node)]
    if with_workers:
        folders.append(layout.WORKERS)
        yield from (WrittenFile(key, 0) for key in JOB_DOCUMENTS if backend.exists(key))
    for folder in folders:
        for entry in backend.entries(folder):
            if "/reserve" not in entry.key:
                yield WrittenFile(entry.key, entry.size)
