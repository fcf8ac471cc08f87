"""Removes a job: the files that Sonde wrote, and nothing else."""

from dataclasses import dataclass

from sonde.store.backends import Backend
from sonde.store.owned import is_ours


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
