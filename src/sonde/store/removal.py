"""Remove a job: only files that Sonde wrote."""

from dataclasses import dataclass

from sonde.store.backends import Backend
from sonde.store.layout import FINDINGS_FOLDER, REPORT_FOLDER, RULES_FOLDER
from sonde.store.owned import is_ours
from sonde.store.places import holds_job


@dataclass(frozen=True, slots=True)
class Removed:
    """The freed bytes, and the remaining files, which Sonde did not write."""

    bytes: int
    remaining: tuple[str, ...]


def remove_job(backend: Backend) -> Removed:
    """Remove Sonde's files from a job's folder, and the folder if it is empty then.

    If the job is a symbolic link, only the link is removed.
    """
    if backend.is_link():
        backend.erase()
        return Removed(0, ())
    freed = sum(entry.size for entry in backend.entries("") if is_ours(entry.key))
    return Removed(freed, tuple(backend.erase(is_ours)))


def remove_remains(backend: Backend) -> bool:
    """Remove files that rules and reports wrote after their job was removed.

    Returns:
        Whether the job was removed.

    Raises:
        StoreError: The store is unreachable, so it is unknown whether the job exists.
    """
    if holds_job(backend):  # even without its first document
        return False
    for folder in (RULES_FOLDER, FINDINGS_FOLDER, REPORT_FOLDER):
        keys = [entry.key for entry in backend.entries(folder)]
        backend.delete([key for key in keys if is_ours(key)])
    backend.remove_if_empty()
    return True
