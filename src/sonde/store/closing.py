"""The closing document of an attempt: how it ended, and which files were recorded until then.

The launcher writes it last. Readers compare: a file that was there and is not, or is shorter, was
lost later. It repeats how the attempt began and ended, so that neither hangs on one file.

Traces are decoded and rules are asked later still, by other processes: these leave lists of their
own, one per trace and one of all findings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sonde.errors import DamagedError, KeyMissingError
from sonde.records.job import Attempt, Exit
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts

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


@dataclass(frozen=True, slots=True)
class LaterFiles:
    """What was written after an attempt was closed."""

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


def list_logs(backend: Backend, key: str, folders: Sequence[str], writer: str = "") -> None:
    """Lists the logs of some folders; what an earlier list says stays true.

    Args:
        backend: The job.
        key: Where the list is kept.
        folders: What holds the logs.
        writer: Only those of this writer, where it is named.
    """
    sizes = {file.key: file.size for file in _listed(backend, key)}
    for folder in folders:
        for entry in backend.entries(folder):
            if _is_log_of(writer, entry.key):
                sizes[entry.key] = max(entry.size, sizes.get(entry.key, 0))
    files = tuple(WrittenFile(*one) for one in sizes.items())
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
        yield WrittenFile(layout.JOB, 0)
    for folder in folders:
        for entry in backend.entries(folder):
            if "/reserve" not in entry.key:
                yield WrittenFile(entry.key, entry.size)
