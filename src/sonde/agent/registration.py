"""Create a job in the store, join it from another node, or resume it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from sonde.agent.placement import Placement
from sonde.clock import NANOSECONDS, Clock, local_stamp
from sonde.errors import DamagedError, JobExistsError, KeyMissingError, StoreError, UsageError
from sonde.records.job import Attempt, Exit, JobInfo, JobState
from sonde.settings import DEFAULT_STORE, RunSettings
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import check_name
from sonde.store.places import holds_attempt, job_uri, refuse_inner_links, refuse_link
from sonde.store.presence import is_present, this_process

_MAX_SAME_NAMES = 1000
_MAX_BASE_LENGTH = 120  # of a name, before a number
_STARTING_SECONDS = 60.0  # time limit for a launcher between registration and its first data


@dataclass(frozen=True, slots=True)
class Registration:
    """Where a node of a job writes."""

    job: str
    node: str
    number: int  # of the attempt
    backend: Backend
    is_creator: bool


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the user requested."""

    settings: RunSettings
    placement: Placement
    is_resume: bool = False
    is_node_given: bool = False  # the user named the node, so other nodes may join


def register(request: RunRequest, command: Sequence[str], clock: Clock) -> Registration:
    """Create a job for the command, or join or resume the job of that name."""
    check_name(request.placement.node, "node")
    name = request.settings.name
    if name is None:
        return _register_unnamed(request, command, clock)
    _check_job_name(name, request.settings)
    created = _create(name, request, clock)
    if created is not None:
        return created
    backend = open_backend(job_uri(request.settings.store, name))
    if request.is_resume:
        _refuse_foreign_job(backend, name, request.settings.store)
        refuse_inner_links(backend)
        return _resume(name, request, backend, clock)
    joined = _join(name, request, backend, clock) if _is_shared(request) else None
    if joined is None:
        where = _from_file(request.settings)
        label = f"{name!r} ({where})" if where else repr(name)
        problem = f"Job {label} already exists in {request.settings.store}"
        if _was_never_started(backend, clock):
            raise JobExistsError(
                f"{problem}, but never started. To remove it: sonde rm {backend.uri}"
            )
        raise JobExistsError(f"{problem}. Choose another --name, or add --resume to continue it.")
    return joined


def _was_never_started(backend: Backend, clock: Clock) -> bool:
    """Whether a launcher wrote only the name of the job before its store failed."""
    if any(entry.key != layout.JOB for entry in backend.entries("")):
        return False
    info = decode_facts(JobInfo, backend.read(layout.JOB), layout.JOB)
    return clock.now_ns() - info.created_ns > _STARTING_SECONDS * NANOSECONDS


def withdraw(registration: Registration) -> None:
    """Undo `register` for a command that is not recorded after all."""
    backend = registration.backend
    is_new = registration.is_creator and registration.number == 1
    claim = layout.attempt_key(registration.node, registration.number, "claim")
    backend.delete([layout.JOB] if is_new else [claim])
    if is_new and not backend.entries(""):
        backend.erase()


def _check_job_name(name: str, settings: RunSettings) -> None:
    try:
        check_name(name)
    except UsageError as error:
        where = _from_file(settings)
        raise UsageError(f"{where}: {error}" if where else str(error)) from error


def _from_file(settings: RunSettings) -> str:
    """Return the configuration key that set the name; empty if the command line did."""
    name, file = settings.name_in_file or (None, "")
    return f"{file}: [job] name" if name is not None and name == settings.name else ""


def _register_unnamed(request: RunRequest, command: Sequence[str], clock: Clock) -> Registration:
    """Name the job by script and time, or by the cluster's job ID, so that all nodes agree."""
    base = _base_name(command)
    group = request.placement.group
    if group is not None:
        name = f"{base}-{re.sub(r'[^A-Za-z0-9._-]', '-', group)}"[:_MAX_BASE_LENGTH]
        return _first_success(
            check_name(name), request, lambda job: _create_or_join(job, request, clock)
        )
    stamp = f"{base}-{local_stamp(clock.now_ns())}"
    return _first_success(stamp, request, lambda job: _create(job, request, clock))


def _first_success(
    name: str, request: RunRequest, attempt: Callable[[str], Registration | None]
) -> Registration:
    """Try a name and then numbered names, in an order that all nodes share."""
    for number in range(1, _MAX_SAME_NAMES):
        registration = attempt(name if number == 1 else f"{name}-{number}")
        if registration is not None:
            return registration
    raise JobExistsError(f"Too many jobs named {name} in {request.settings.store}.")


def _create_or_join(name: str, request: RunRequest, clock: Clock) -> Registration | None:
    """Create a job of a cluster, join it, or continue it after a failure."""
    created = _create(name, request, clock)
    if created is not None:
        return created
    backend = open_backend(job_uri(request.settings.store, name))
    joined = _join(name, request, backend, clock)
    if joined is not None or not request.placement.restarts:
        return joined
    return None if _has_succeeded(backend) else _continue(name, request, backend, clock)


def _continue(
    name: str, request: RunRequest, backend: Backend, clock: Clock
) -> Registration | None:
    """Continue a job on this node; None if it still runs here."""
    try:
        return _resume(name, request, backend, clock)
    except JobExistsError:
        return None


def _has_succeeded(backend: Backend) -> bool:
    """Whether the latest attempt on any node completed."""
    return any(
        _end_state(backend, node) is JobState.COMPLETED for node in backend.folders(layout.NODES)
    )


def _end_state(backend: Backend, node: str) -> JobState | None:
    """How the latest attempt on a node ended; None if it has not, or was killed."""
    last = _last_attempt(backend, node)
    key = layout.attempt_key(node, last.number, "exit") if last is not None else ""
    if not key or not backend.exists(key):
        return None
    return decode_facts(Exit, backend.read(key), key).state


def _create(name: str, request: RunRequest, clock: Clock) -> Registration | None:
    """Create a job; None if the name is taken."""
    store = request.settings.store
    backend = open_backend(job_uri(store, name))
    _refuse_other_content(backend, name, store)
    info = JobInfo(name, clock.now_ns(), request.placement.node)
    if not backend.create(layout.JOB, encode_facts(info, layout.JOB)):
        return None
    if store == DEFAULT_STORE:
        open_backend(store).create(".gitignore", b"*\n")
    return Registration(name, request.placement.node, 1, backend, is_creator=True)


def _refuse_other_content(backend: Backend, name: str, store: str) -> None:
    """Raise if the job's folder is a link or contains other files."""
    refuse_link(backend)
    # the job's document is written first
    if not backend.is_empty() and not backend.exists(layout.JOB):
        raise _not_a_job(name, store)


def _refuse_foreign_job(backend: Backend, name: str, store: str) -> None:
    """Raise if Sonde wrote neither the `job.json` of a folder nor any attempt in it.

    A job whose document is damaged is recognized by its attempts.
    """
    try:
        decode_facts(JobInfo, backend.read(layout.JOB), layout.JOB)
    except (DamagedError, KeyMissingError) as error:
        if not holds_attempt(backend):
            raise _not_a_job(name, store) from error


def _not_a_job(name: str, store: str) -> JobExistsError:
    return JobExistsError(
        f"{store.rstrip('/')}/{name} is not empty and is not a job. "
        "Choose another --name or another --store."
    )


def _join(name: str, request: RunRequest, backend: Backend, clock: Clock) -> Registration | None:
    """Join a job that another node created; None if the node name is taken."""
    node = request.placement.node
    info = decode_facts(JobInfo, backend.read(layout.JOB), layout.JOB)
    if node == info.created_by or node in backend.folders(layout.NODES):
        return None
    if _is_over(backend, clock):  # a rerun is a new job
        return None
    # two nodes may join with the same name: the first one succeeds
    number = _latest_number(backend)
    if not backend.create(layout.attempt_key(node, number, "claim"), encode_facts(this_process())):
        return None
    return Registration(name, node, number, backend, is_creator=False)


def _resume(name: str, request: RunRequest, backend: Backend, clock: Clock) -> Registration:
    node = request.placement.node
    last = _last_attempt(backend, node)
    if last is None:  # a new node joins the current attempt
        number = _latest_number(backend)
        is_next = _is_over(backend, clock)  # this machine has taken the place of a failed node
        return Registration(name, node, number + is_next, backend, is_creator=is_next)
    if _is_running(backend, last, clock):
        raise JobExistsError(f"Job {name!r} is still running on {node} and cannot be resumed.")
    number = last.number + 1
    if not backend.create(layout.attempt_key(node, number, "claim"), encode_facts(this_process())):
        raise JobExistsError(f"Job {name!r} is being resumed on {node} by another launcher.")
    return Registration(name, node, number, backend, is_creator=True)


def _latest_number(backend: Backend) -> int:
    """The number of the latest attempt on any node."""
    attempts = [_last_attempt(backend, node) for node in backend.folders(layout.NODES)]
    return max((attempt.number for attempt in attempts if attempt is not None), default=1)


def _is_over(backend: Backend, clock: Clock) -> bool:
    """Whether the job has started and no node is running it."""
    attempts = [_last_attempt(backend, node) for node in backend.folders(layout.NODES)]
    started = [attempt for attempt in attempts if attempt is not None]
    return bool(started) and not any(_is_running(backend, attempt, clock) for attempt in started)


def _is_running(backend: Backend, attempt: Attempt, clock: Clock) -> bool:
    has_ended = backend.exists(layout.attempt_key(attempt.node, attempt.number, "exit"))
    return not has_ended and is_present(backend, attempt, clock.now_ns())


def _last_attempt(backend: Backend, node: str) -> Attempt | None:
    attempts = []
    for folder in backend.folders(layout.node_folder(node)):
        key = f"{layout.node_folder(node)}/{folder}/start.json"
        if folder.startswith("attempt-"):
            try:
                attempts.append(decode_facts(Attempt, backend.read(key), key))
            except StoreError:  # the attempt never started
                continue
    return max(attempts, key=lambda attempt: attempt.number, default=None)


def _is_shared(request: RunRequest) -> bool:
    placement = request.placement
    return request.is_node_given or placement.nodes > 1 or placement.local_rank > 0


def _base_name(command: Sequence[str]) -> str:
    """Return the name of the script, module or program."""
    words = list(command)
    script = next((word for word in words[1:] if word.endswith((".py", ".sh"))), None)
    if script is None and "-m" in words[:-1]:
        script = words[words.index("-m") + 1]
    stem = PurePath(script or words[0]).name.removesuffix(".py").removesuffix(".sh")
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem).strip(".-")[:80] or "job"
