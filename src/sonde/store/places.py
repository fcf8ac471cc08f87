"""How people name stores and jobs, and the URIs that this means."""

from pathlib import Path

from sonde.errors import JobNotFoundError
from sonde.store import layout
from sonde.store.backends import Backend, open_backend


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
    known = [name for name in open_backend(store).folders("") if not name.startswith(".")]
    hint = f" Known: {', '.join(known[-8:])}" if known else f" There are no jobs in {store} yet."
    raise JobNotFoundError(f"No job {job!r}.{hint}")
