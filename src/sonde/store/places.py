"""How people name stores and jobs, and the URIs that this means."""

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
    """The store's URI, independent of the folder a process is in."""
    try:
        return store if "://" in store else str(expand_home(store).absolute())
    except FileNotFoundError as error:
        raise StoreError(f"There is no {store}: the current folder was removed") from error


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
        if holds_job(backend):
            return backend
    raise JobNotFoundError(_why_not_found(job, store))


def holds_job(backend: Backend) -> bool:
    """Whether a folder is a job; one that has lost its first document still is."""
    if backend.exists(layout.JOB):
        return True
    return any(
        name.startswith("attempt-")
        for node in backend.folders(layout.NODES)
        for name in backend.folders(layout.node_folder(node))
    )


def refuse_link(backend: Backend) -> None:
    """Raises where the folder of a job is a link: nothing is written through it."""
    if backend.is_link():
        raise JobExistsError(
            f"{backend.uri} is a link, and Sonde writes no job through a link. "
            "Choose another --name or another --store."
        )


def refuse_inner_links(backend: Backend) -> None:
    """Raises where a link stands in a job's folder in the place of something that Sonde writes."""
    links = [key for key in backend.links() if is_ours(key) or is_ours(f"{key}/")]
    if links:
        raise JobExistsError(
            f"{backend.uri}/{links[0]} is a link, and Sonde writes through no link. "
            "Replace it with what it leads to, or choose another --name."
        )


def check_store(store: str) -> None:
    """Raises where this cannot be a store: a file, or the folder of a job."""
    folder = _local_folder(store)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise StoreError(f"{store} is not a folder")
    if open_backend(store).exists(layout.JOB):
        parent = store.rstrip("/").rpartition("/")[0]
        raise StoreError(f"{store} is a job; its store is {parent or '/'}")


def is_there(store: str) -> bool:
    """Whether the folder of a store exists; other places have no folders to exist."""
    folder = _local_folder(store)
    return folder is None or folder.exists()


def _why_not_found(job: str, store: str) -> str:
    is_named = "/" not in job
    if not is_named or Path(job).is_dir():
        inside = _some_jobs(job)
        if inside:
            return f"{job} is a store, not a job. Its jobs: {inside}"
    check_store(store)
    known = _some_jobs(store)
    said = f"No job {job!r} in {store}." if is_named else f"No job {job!r}."
    if not known:
        return f"{said} There are no jobs in {store} yet."
    if not is_named:
        return f"{said} Known in {store}: {known}"
    return f"{said}{did_you_mean(job, open_backend(store).folders(''))} Known: {known}"


def _some_jobs(store: str) -> str:
    """The last jobs of a store, and how many more there are."""
    jobs = _last_jobs(store)
    shown = list(islice(jobs, _HINTS))[::-1]
    if _local_folder(store) is None:  # to count them all would take a request for each
        more = " (and more)" if next(jobs, None) else ""
    else:
        rest = sum(1 for _ in jobs)
        more = f" (and {rest} more)" if rest else ""
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
