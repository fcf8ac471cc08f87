"""How people name stores and jobs, and the URIs that this means."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sonde.errors import JobNotFoundError
from sonde.store import layout
from sonde.store.backends import Backend, open_backend

_HINTS = 8


def absolute_store(store: str) -> str:
    """The store's URI, independent of the folder a process is in."""
    return store if "://" in store else str(Path(store).expanduser().absolute())


def job_uri(store: str, job: str) -> str:
    """The folder of a job in a store; absolute, since processes of a job change folders."""
    return f"{absolute_store(store).rstrip('/')}/{job}"


def find_job(job: str, store: str) -> Backend:
    """The job's own backend, from its name in the store, or from the path or URI of its folder."""
    candidates = [job] if "://" in job else [job_uri(store, job)]
    if "/" in job and "://" not in job:
        candidates = [job]
    elif "://" not in job and Path(job, layout.JOB).is_file():
        candidates.append(job)
    for candidate in candidates:
        backend = open_backend(candidate)
        if backend.exists(layout.JOB):
            return backend
    known = list(islice(_last_jobs(store), _HINTS))[::-1]
    hint = f" Known: {', '.join(known)}" if known else f" There are no jobs in {store} yet."
    raise JobNotFoundError(f"No job {job!r}.{hint}")


def _last_jobs(store: str) -> Iterator[str]:
    for name in reversed(open_backend(store).folders("")):
        if not name.startswith(".") and open_backend(job_uri(store, name)).exists(layout.JOB):
            yield name
