"""Makes a job in the store, joins it from another node, or continues it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from sonde.clock import NANOSECONDS, Clock, local_stamp
from sonde.errors import JobExistsError, StoreError, UsageError
from sonde.records.job import Attempt, JobInfo
from sonde.settings import DEFAULT_STORE, Placement, RunSettings
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import check_name
from sonde.store.places import job_uri, refuse_inner_links, refuse_link
from sonde.store.presence import is_present, this_process

_MOST_SAME_NAMES = 1000
_STARTING_SECONDS = 60.0  # what a launcher may take until it has written more than a name


@dataclass(frozen=True, slots=True)
class Registration:
    """A place to write for one node of one job."""

    job: str
    node: str
    number: int  # which attempt this is
    backend: Backend
    is_creator: bool


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asked for."""

    settings: RunSettings
    placement: Placement
    is_resume: bool = False
    is_node_given: bool = False  # the node was named: other nodes of the same job are expected


def register(wish: Wish, command: Sequence[str], clock: Clock) -> Registration:
    """A job of its own for the command, unless the name says that it is part of another."""
    check_name(wish.placement.node, "node")
    name = wish.settings.name
    if name is None:
        return _register_unnamed(wish, command, clock)
    _check_job_name(name, wish.settings)
    made = _create(name, wish, clock)
    if made is not None:
        return made
    backend = open_backend(job_uri(wish.settings.store, name))
    if wish.is_resume:
        refuse_inner_links(backend)
        return _resume(name, wish, backend, clock)
    joined = _join(name, wish, backend, clock) if _is_shared(wish) else None
    if joined is None:
        where = _from_file(wish.settings)
        begin = f"Job {name!r}{f' ({where})' if where else ''} exists in {wish.settings.store}"
        if _never_began(backend, clock):
            raise JobExistsError(
                f"{begin}, but never began. Remove it with: sonde rm {backend.uri}"
            )
        raise JobExistsError(f"{begin}. Choose another --name, or continue it with --resume.")
    return joined


def _never_began(backend: Backend, clock: Clock) -> bool:
    """Whether a launcher has left a name and nothing else: its store failed just then."""
    if any(entry.key != layout.JOB for entry in backend.entries("")):
        return False
    info = decode_facts(JobInfo, backend.read(layout.JOB), layout.JOB)
    return clock.now_ns() - info.created_ns > _STARTING_SECONDS * NANOSECONDS


def withdraw(registration: Registration) -> None:
    """Takes back what `register` made, for a command that is not recorded after all."""
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
    """Where the name was found, unless the command line gave it."""
    name, file = settings.name_in_file or (None, "")
    return f"{file}: [job] name" if name is not None and name == settings.name else ""


def _register_unnamed(wish: Wish, command: Sequence[str], clock: Clock) -> Registration:
    """Script name and time; within a cluster's job, its number, so that all nodes agree."""
    base = _base_name(command)
    group = wish.placement.group
    if group is not None:
        name = check_name(f"{base}-{re.sub(r'[^A-Za-z0-9._-]', '-', group)}"[:128])
        backend = open_backend(job_uri(wish.settings.store, name))
        found = _create(name, wish, clock) or _join(name, wish, backend, clock)
        if found is not None:
            return found
    stamp = f"{base}-{local_stamp(clock.now_ns())}"
    for again in range(1, _MOST_SAME_NAMES):
        made = _create(stamp if again == 1 else f"{stamp}-{again}", wish, clock)
        if made is not None:
            return made
    raise JobExistsError(f"{wish.settings.store} holds too many jobs named {stamp}.")


def _create(name: str, wish: Wish, clock: Clock) -> Registration | None:
    """The new job, or None if the name is taken."""
    store = wish.settings.store
    backend = open_backend(job_uri(store, name))
    _refuse_other_content(backend, name, store)
    info = JobInfo(name, clock.now_ns(), wish.placement.node)
    if not backend.create(layout.JOB, encode_facts(info, layout.JOB)):
        return None
    if store == DEFAULT_STORE:
        open_backend(store).create(".gitignore", b"*\n")
    return Registration(name, wish.placement.node, 1, backend, is_creator=True)


def _refuse_other_content(backend: Backend, name: str, store: str) -> None:
    """Raises where the job's folder is a link, or holds something else: its owner's files."""
    refuse_link(backend)
    # a job's own document is there before anything else of it
    if not backend.is_empty() and not backend.exists(layout.JOB):
        raise JobExistsError(
            f"{store.rstrip('/')}/{name} is not empty and holds no job. "
            "Choose another --name or another --store."
        )


def _join(name: str, wish: Wish, backend: Backend, clock: Clock) -> Registration | None:
    """A place in a job that another node has made, or None if one of our name has it."""
    node = wish.placement.node
    info = decode_facts(JobInfo, backend.read(layout.JOB), layout.JOB)
    if node == info.created_by or node in backend.folders(layout.NODES):
        return None
    if _is_over(backend, clock):  # a rerun is a job of its own
        return None
    # of two that come at once with the same name, one gets the place
    if not backend.create(layout.attempt_key(node, 1, "claim"), encode_facts(this_process())):
        return None
    return Registration(name, node, 1, backend, is_creator=False)


def _resume(name: str, wish: Wish, backend: Backend, clock: Clock) -> Registration:
    node = wish.placement.node
    last = _last_attempt(backend, node)
    if last is None:  # a node that is new to the job takes part in the attempt of the others
        others = [_last_attempt(backend, other) for other in backend.folders(layout.NODES)]
        number = max((other.number for other in others if other is not None), default=1)
        return Registration(name, node, number, backend, is_creator=False)
    if _still_runs(backend, last, clock):
        raise JobExistsError(f"Job {name!r} still runs on {node}; it cannot be resumed.")
    number = last.number + 1
    if not backend.create(layout.attempt_key(node, number, "claim"), encode_facts(this_process())):
        raise JobExistsError(f"Job {name!r} is being resumed on {node} by another launcher.")
    return Registration(name, node, number, backend, is_creator=True)


def _is_over(backend: Backend, clock: Clock) -> bool:
    """Whether the job has begun somewhere and nobody is at it any more."""
    attempts = [_last_attempt(backend, node) for node in backend.folders(layout.NODES)]
    begun = [attempt for attempt in attempts if attempt is not None]
    return bool(begun) and not any(_still_runs(backend, one, clock) for one in begun)


def _still_runs(backend: Backend, attempt: Attempt, clock: Clock) -> bool:
    has_ended = backend.exists(layout.attempt_key(attempt.node, attempt.number, "exit"))
    return not has_ended and is_present(backend, attempt, clock.now_ns())


def _last_attempt(backend: Backend, node: str) -> Attempt | None:
    attempts = []
    for folder in backend.folders(layout.node_folder(node)):
        key = f"{layout.node_folder(node)}/{folder}/start.json"
        if folder.startswith("attempt-"):
            try:
                attempts.append(decode_facts(Attempt, backend.read(key), key))
            except StoreError:  # an attempt that never got so far
                continue
    return max(attempts, key=lambda attempt: attempt.number, default=None)


def _is_shared(wish: Wish) -> bool:
    placement = wish.placement
    return wish.is_node_given or placement.nodes > 1 or placement.local_rank > 0


def _base_name(command: Sequence[str]) -> str:
    """The script, else the module, else the program."""
    words = list(command)
    script = next((word for word in words[1:] if word.endswith((".py", ".sh"))), None)
    if script is None and "-m" in words[:-1]:
        script = words[words.index("-m") + 1]
    stem = PurePath(script or words[0]).name.removesuffix(".py").removesuffix(".sh")
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem).strip(".-")[:80] or "job"
