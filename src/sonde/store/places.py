"""Resolve the names of stores and jobs to URIs."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sonde.errors import JobExistsError, JobNotFoundError, StoreError, did_you_mean
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.backends.local import expand_home
from sonde.store.owned import is_ours

_HINTS = 8


def absolute_store(store: str) -> str:
    """The store's URI, independent of the working directory."""
    try:
        return store if "://" in store else str(expand_home(store).absolute())
    except FileNotFoundError as error:
        raise StoreError(f"Cannot find store {store}: the working directory was removed") from error


def job_uri(store: str, job: str) -> str:
    """The absolute URI of a job, since its processes may change the working directory."""
    return f"{absolute_store(store).rstrip('/')}/{job}"


def find_job(job: str, store: str) -> Backend:
    """Open a job by its name in the store, or by the path or URI of its folder."""
    candidates = [job] if "://" in job else [job_uri(store, job)]
    if "/" in job and "://" not in job:
        candidates = [job]
    elif "://" not in job and Path(job, layout.JOB).is_file():
        candidates.append(job)
    for candidate in candidates:
        backend = open_backend(candidate)
        if holds_job(backend):
            return backend
    raise JobNotFoundError(_why_not_found(job, store))


def holds_job(backend: Backend) -> bool:
    """Whether a folder is a job, even if its first document is missing."""
    return backend.exists(layout.JOB) or holds_attempt(backend)


def holds_attempt(backend: Backend) -> bool:
    """Whether a folder contains a file that a launcher wrote about an attempt."""
    return any(
        is_ours(entry.key)
        for node in backend.folders(layout.NODES)
        for name in backend.folders(layout.node_folder(node))
        if name.startswith("attempt-")
        for entry in backend.entries(f"{layout.node_folder(node)}/{name}")
    )


def refuse_link(backend: Backend) -> None:
    """Raise JobExistsError if the folder of a job is a symbolic link."""
    if backend.is_link():
        raise JobExistsError(
            f"{backend.uri} is a symbolic link, and Sonde does not write through links. "
            "Choose another --name or --store."
        )


def refuse_inner_links(backend: Backend) -> None:
    """Raise JobExistsError if a file that Sonde writes is a symbolic link."""
    links = [key for key in backend.links() if is_ours(key) or is_ours(f"{key}/")]
    if links:
        raise JobExistsError(
            f"{backend.uri}/{links[0]} is a symbolic link, and Sonde does not write through links. "
            "Replace the link with its target, or choose another --name."
        )


def check_store(store: str) -> None:
    """Raise StoreError if the path is a file or a job."""
    folder = _local_folder(store)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise StoreError(f"{store} is not a folder")
    if open_backend(store).exists(layout.JOB):
        parent = store.rstrip("/").rpartition("/")[0]
        raise StoreError(f"{store} is a job, not a store. Its store is {parent or '/'}")


def store_exists(store: str) -> bool:
    """Whether the folder of a store exists; always true for object stores."""
    folder = _local_folder(store)
    return folder is None or folder.exists()


def _why_not_found(job: str, store: str) -> str:
    is_named = "/" not in job
    if not is_named or Path(job).is_dir():
        inside = _some_jobs(job)
        if inside:
            return f"{job} is a store, not a job. Its jobs: {inside}"
    check_store(store)
    jobs = _some_jobs(store)
    message = f"No job {job!r} in {store}." if is_named else f"No job {job!r}."
    if not jobs:
        return f"{message} {store} has no jobs yet."
    if not is_named:
        return f"{message} Jobs in {store}: {jobs}"
    return f"{message}{did_you_mean(job, open_backend(store).folders(''))} Available: {jobs}"


def _some_jobs(store: str) -> str:
    """The names of the last jobs of a store, and the number of others."""
    jobs = _last_jobs(store)
    shown = list(islice(jobs, _HINTS))[::-1]
    if _local_folder(store) is None:  # counting would take one request per job
        more = " (and more)" if next(jobs, None) else ""
    else:
        remaining = sum(1 for _ in jobs)
        more = f" (and {remaining} more)" if remaining else ""
    return ", ".join(shown) + more


def _local_folder(store: str) -> Path | None:
    scheme, mark, _ = store.partition("://")
    if not mark:
        return expand_home(store)
    return Path(unquote(urlsplit(store).path)) if scheme == "file" else None


def _last_jobs(store: str) -> Iterator[str]:
    for name in reversed(open_backend(store).folders("")):
        if not name.startswith(".") and holds_job(open_backend(job_uri(store, name))):
            yield name
