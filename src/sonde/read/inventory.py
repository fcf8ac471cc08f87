"""Compare a job's files with the lists of written files, and report missing and cut files."""

import zlib
from collections.abc import Iterable, Mapping, Sequence

from sonde.formats import format_count, pluralize
from sonde.read.documents import read_document
from sonde.read.jobs import JobFacts
from sonde.records.worker import TensorIndex
from sonde.store import layout
from sonde.store.backends import Backend, Entry
from sonde.store.closing import JOB_DOCUMENTS, Closing, LaterFiles, WrittenFile, closing_key
from sonde.store.damage import MISSING
from sonde.store.format import FAMILIES, OPERATIONS
from sonde.store.layout import SegmentName
from sonde.store.reader import FolderReader
from sonde.store.retention import removed_keys

_SEGMENT_SUFFIXES = (
    layout.LIVE_SUFFIX,
    layout.ROLLUP_SUFFIX,
    layout.SEALED_SUFFIX,
    layout.MANIFEST_SUFFIX,
)
_SIZED_SUFFIXES = (layout.LIVE_SUFFIX, ".safetensors", layout.TRACE_SUFFIX)
_MAX_NAMED_FILES = 5  # per folder; further files are only counted


def check_files(backend: Backend, facts: JobFacts) -> None:
    """Report missing and cut files of finished attempts to the ledger."""
    for node in facts.attempts:
        if node.state.is_over:
            key = closing_key(node.attempt.node, node.attempt.number)
            closing = read_document(Closing, backend, key, [])
            if closing is not None:
                folders = [layout.node_folder(node.attempt.node), layout.WORKERS]
                entries = _entries(backend, folders)
                _check(backend, closing.files, entries, closing.time_ns)
    if facts.state.is_over:
        _check_later(backend, facts.end_ns)
        _check_tensor_lists(backend, facts)


def _entries(backend: Backend, folders: Sequence[str]) -> Mapping[str, Entry]:
    return {entry.key: entry for folder in folders for entry in backend.entries(folder)}


def _check_tensor_lists(backend: Backend, facts: JobFacts) -> None:
    """Read the lists of tensors, which reports damaged ones to the ledger."""
    for life in facts.lives:
        key = layout.worker_key(life.info.rank, life.info.attempt, life.info.restart, "tensors")
        read_document(TensorIndex, backend, key, [])


def _check_later(backend: Backend, time_ns: int | None) -> None:
    """Check files written after the attempts ended: decoded traces and findings."""
    entries = _entries(backend, [layout.WORKERS, layout.FINDINGS_FOLDER])
    lists = [key for key in entries if layout.DECODED_LIST.fullmatch(key)]
    lists.append(layout.FINDINGS_LIST)
    recorded_lists = (read_document(LaterFiles, backend, key, []) for key in lists)
    files = [file for recorded in recorded_lists if recorded is not None for file in recorded.files]
    _check(backend, files, entries, time_ns)


def _check(
    backend: Backend,
    files: Iterable[WrittenFile],
    entries: Mapping[str, Entry],
    time_ns: int | None,
) -> None:
    removed, sealed = removed_keys(backend), _SealedSources(backend)
    missing = []
    for file in files:
        entry = entries.get(file.key)
        if entry is not None:
            _check_size(backend, file, entry, time_ns)
        elif file.key in JOB_DOCUMENTS:
            missing += [] if backend.exists(file.key) else [file]
        elif file.key not in removed and not sealed.stands_for(file.key, entries):
            missing.append(file)
    _report(backend, missing, time_ns)


def _check_size(backend: Backend, file: WrittenFile, entry: Entry, time_ns: int | None) -> None:
    """Report a file that became shorter; logs may have grown."""
    if file.key.endswith(_SIZED_SUFFIXES) and entry.size < file.size:
        sizes = f"{format_count(entry.size)} of {format_count(file.size)} bytes"
        text = f"{file.key} is damaged: {sizes} remain"
        backend.ledger.report(file.key, text, (None, time_ns))


def _report(backend: Backend, missing: Sequence[WrittenFile], time_ns: int | None) -> None:
    folders: dict[str, list[str]] = {}
    for file in missing:
        folders.setdefault(file.key.rpartition("/")[0], []).append(file.key)
    for folder, keys in folders.items():
        for key in keys[:_MAX_NAMED_FILES]:
            backend.ledger.report(key, f"{key} is missing", (None, time_ns), MISSING)
        if len(keys) > _MAX_NAMED_FILES:
            count = pluralize(len(keys) - _MAX_NAMED_FILES, "more file", "more files")
            text = f"{count} of {folder} missing"
            backend.ledger.report(folder, text, (None, time_ns), MISSING)


class _SealedSources:
    """Segments that were merged into sealed ones."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._parts: dict[str, set[str]] = {}

    def stands_for(self, key: str, entries: Mapping[str, Entry]) -> bool:
        """Whether the content of a missing file exists in another form."""
        folder, _, file = key.rpartition("/")
        stem = file.partition(".")[0]
        name = SegmentName.parse(stem)
        if name is not None and file.endswith(_SEGMENT_SUFFIXES):
            first = str(SegmentName(name.start_ns, name.writer.partition("-")[0]))
            return first in self._parts_of(folder)
        if folder.endswith("/profiles"):
            return self._is_decoded(folder, stem, entries)
        return False

    def _parts_of(self, folder: str) -> set[str]:
        if folder not in self._parts:
            above, _, family = folder.rpartition("/")
            reader = FolderReader(self._backend, above, FAMILIES[family])
            reader.refresh()
            self._parts[folder] = {
                source.segment for segment in reader.segments for source in segment.parts
            }
        return self._parts[folder]

    def _is_decoded(self, folder: str, stem: str, entries: Iterable[str]) -> bool:
        """Whether a trace was decoded into operations, whose writer is named after it.

        A trace without operations leaves only the list of their logs, which is empty.
        """
        if f"{folder}/{stem}{layout.DECODED_SUFFIX}" in entries:
            return True
        token = f"{zlib.crc32(f'{folder}/{stem}'.encode()):08x}"
        worker = folder.rpartition("/")[0]
        rank = worker.rpartition("/")[2]
        if rank.isdecimal() and layout.decoded_key(int(rank), token) in entries:
            return True
        return any(
            segment.endswith(token) for segment in self._parts_of(f"{worker}/{OPERATIONS.name}")
        )
