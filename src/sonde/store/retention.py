"""Keeps a job within its disk budget: old raw data goes first, roll-ups and findings stay."""

from dataclasses import dataclass, replace

from sonde.errors import DamagedError, KeyMissingError, NoSpaceError
from sonde.store.backends import Backend, Entry
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.format import EVENTS, OPERATIONS, STATISTICS, SYSTEM
from sonde.store.layout import MANIFEST_SUFFIX, ROLLUP_SUFFIX, SEALED_SUFFIX, SegmentName
from sonde.store.manifest import Manifest
from sonde.store.owned import is_ours

REMOVED = "removed.json"
_RAW_FAMILIES = {SYSTEM.name, EVENTS.name, OPERATIONS.name, STATISTICS.name}
_RAW_FOLDERS = {"values", "profiles"}


@dataclass(frozen=True, slots=True)
class Removal:
    """What had to go."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """Files that the disk budget took away, so that nobody takes them for lost."""

    keys: tuple[str, ...]


def removed_keys(backend: Backend) -> frozenset[str]:
    """What the disk budget has removed so far."""
    try:
        return frozenset(decode_facts(RemovedFiles, backend.read(REMOVED), REMOVED).keys)
    except KeyMissingError:
        return frozenset()
    except DamagedError as error:
        backend.ledger.report(REMOVED, str(error))
        return frozenset()


def keep_within(backend: Backend, budget_bytes: int) -> Removal:
    """Removes the oldest raw data until the job fits its budget, or nothing more may go."""
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
        known = RemovedFiles(tuple(sorted(removed_keys(backend).union(blobs))))
        _write_first(backend, REMOVED, encode_facts(known, REMOVED), blobs)
    backend.delete(keys)
    return Removal(len(keys), freed)


def _write_first(backend: Backend, key: str, data: bytes, files: list[str]) -> None:
    """Says that files are gone before they are, so that no reader takes that for damage.

    On a full disk that takes the room which only they can give: they go first.
    """
    try:
        backend.write(key, data)
    except NoSpaceError:
        backend.delete(files)
        backend.write(key, data)


def _age(entry: Entry) -> int:
    """When it was recorded: what was merged or copied later is as old as it was."""
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
    """Says in the manifest that the raw data is gone.

    Without a manifest it is left alone: somebody is about to write it.
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
