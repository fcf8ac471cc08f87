"""Keep a job within its disk budget: remove old raw data, keep roll-ups and findings."""

from dataclasses import dataclass, replace

from sonde.errors import DamagedError, KeyMissingError, NoSpaceError
from sonde.store.backends import Backend, Entry
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.format import EVENTS, LOGS, OPERATIONS, STATISTICS, SYSTEM
from sonde.store.layout import MANIFEST_SUFFIX, ROLLUP_SUFFIX, SEALED_SUFFIX, SegmentName
from sonde.store.manifest import Manifest
from sonde.store.owned import is_ours

REMOVED = "removed.json"
_RAW_FAMILIES = {SYSTEM.name, EVENTS.name, OPERATIONS.name, STATISTICS.name, LOGS.name}
_RAW_FOLDERS = {"values", "profiles"}


@dataclass(frozen=True, slots=True)
class Removal:
    """The number and size of removed files."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """Files removed by the disk budget, so that readers do not report them as missing."""

    keys: tuple[str, ...]


def removed_keys(backend: Backend) -> frozenset[str]:
    """The keys removed by the disk budget so far."""
    try:
        return frozenset(decode_facts(RemovedFiles, backend.read(REMOVED), REMOVED).keys)
    except KeyMissingError:
        return frozenset()
    except DamagedError as error:
        backend.ledger.report(REMOVED, str(error))
        return frozenset()


def keep_within(backend: Backend, budget_bytes: int) -> Removal:
    """Remove the oldest raw data until the job fits its budget or only other data is left."""
    entries = backend.entries("")
    excess = sum(entry.size for entry in entries) - budget_bytes
    keys: list[str] = []
    freed = 0
    for entry in sorted(entries, key=_age):
        if freed >= excess:
            break
        if _may_go(backend, entry.key):
            keys.append(entry.key)
            freed += entry.size
    blobs = [key for key in keys if not key.endswith(SEALED_SUFFIX)]
    if blobs:
        removed = RemovedFiles(tuple(sorted(removed_keys(backend).union(blobs))))
        _write_first(backend, REMOVED, encode_facts(removed, REMOVED), blobs)
    backend.delete(keys)
    return Removal(len(keys), freed)


def _write_first(backend: Backend, key: str, data: bytes, files: list[str]) -> None:
    """Record a removal before it happens, so that readers do not report damage.

    On a full disk, the files are deleted first to make room for the record.
    """
    try:
        backend.write(key, data)
    except NoSpaceError:
        backend.delete(files)
        backend.write(key, data)


def _age(entry: Entry) -> int:
    """When the data was recorded, independent of later merging or copying."""
    name = SegmentName.parse(entry.key.rpartition("/")[2].removesuffix(SEALED_SUFFIX))
    return entry.modified_ns if name is None else name.start_ns


def _may_go(backend: Backend, key: str) -> bool:
    return _forget_raw(backend, key) if _is_raw_segment(key) else _is_raw_blob(key)


def _is_raw_segment(key: str) -> bool:
    family = key.split("/")[-2] if "/" in key else ""
    is_sealed = key.endswith(SEALED_SUFFIX) and not key.endswith(ROLLUP_SUFFIX)
    return is_sealed and family in _RAW_FAMILIES and is_ours(key)


def _is_raw_blob(key: str) -> bool:
    return "/" in key and key.split("/")[-2] in _RAW_FOLDERS and is_ours(key)


def _forget_raw(backend: Backend, key: str) -> bool:
    """Record in the manifest that the raw data is removed.

    Returns False without a manifest: the segment is still being written.
    """
    manifest_key = key.removesuffix(SEALED_SUFFIX) + MANIFEST_SUFFIX
    try:
        manifest = decode_facts(Manifest, backend.read(manifest_key), manifest_key)
    except KeyMissingError:
        return False
    except DamagedError:
        return True
    data = encode_facts(replace(manifest, raw=None), manifest_key)
    _write_first(backend, manifest_key, data, [key])
    return True
