"""Removes a job: the files that Sonde wrote, and nothing else."""

from dataclasses import dataclass

from sonde.store.backends import Backend
from sonde.store.layout import FINDINGS_FOLDER, REPORT_FOLDER, RULES_FOLDER
from sonde.store.owned import is_ours
from sonde.store.places import holds_job


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removal freed, and the files it left because Sonde did not write them."""

    bytes: int
    left: tuple[str, ...]


def remove_job(backend: Backend) -> Removed:
    """Removes what Sonde wrote into a job's folder, and the folder if nothing else is in it.

    A job that is a link loses the link only.
    """
    if backend.is_link():
        backend.erase()
        return Removed(0, ())
    freed = sum(entry.size for entry in backend.entries("") if is_ours(entry.key))
    return Removed(freed, tuple(backend.erase(is_ours)))


def remove_remains(backend: Backend) -> bool:
    """Removes what rules and reports wrote into a job that was removed meanwhile; whether it was.

    Raises:
        StoreError: The store cannot be reached: that does not mean that the job is gone.
    """
    if holds_job(backend):  # also one that has lost its first document
        return False
    for folder in (RULES_FOLDER, FINDINGS_FOLDER, REPORT_FOLDER):
        keys = [entry.key for entry in backend.entries(folder)]
        backend.delete([key for key in keys if is_ours(key)])
    backend.remove_if_empty()
    return True
