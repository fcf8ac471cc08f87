"""Recordings of other programs, made by hand: events in Chrome's format and the files of them."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.client.job import Job
from sonde.importers import IMPORTERS, Intake, JobDraft
from sonde.store.backends import Backend, open_backend
from sonde.store.format import OPERATIONS
from sonde.store.layout import worker_folder
from sonde.store.reader import FolderReader
from tests.fakes.clock import FakeClock

Event = dict[str, Any]

BASE_NS = 1_700_000_000_000_000_000
HOST, AUTOGRAD = (10, 10), (10, 11)
STREAM = (0, 7)


def span(
    name: str, start: float, duration: float, place: tuple[Any, Any] = HOST, **more: Any
) -> Event:
    """A complete event; times in microseconds."""
    pid, tid = place
    return {
        "ph": "X",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": start,
        "dur": duration,
        **more,
    }


def operator(name: str, start: float, duration: float, **arguments: Any) -> Event:
    """An operator of PyTorch on the training thread."""
    return span(name, start, duration, cat="cpu_op", args=arguments)


def annotation(name: str, start: float, duration: float) -> Event:
    """A stretch that PyTorch or the script names."""
    return span(name, start, duration, cat="user_annotation")


def named(what: str, name: str, pid: Any, tid: Any = 0) -> Event:
    """How a process or a thread is called."""
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def backward(start: float, duration: float) -> Event:
    """A part of a backward pass, on the thread of autograd."""
    name = "autograd::engine::evaluate_function: MmBackward0"
    return span(name, start, duration, AUTOGRAD, cat="cpu_op")


def training_step(number: int, start: float, sequence: int = 0, passes: int = 1) -> list[Event]:
    """1000 µs: data 100, forward 200 and backward 300 (that often halved), optimizer 100."""
    events = [
        annotation(f"ProfilerStep#{number}", start, 1000),
        annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + 10, 100),
        annotation("Optimizer.step#SGD.step", start + 800, 100),
        annotation("Optimizer.zero_grad#SGD.zero_grad", start + 920, 10),
    ]
    for turn in range(passes):
        begin = start + 120 + 600 / passes * turn
        half = 100 / passes
        numbers = [sequence + 2 * turn, sequence + 2 * turn + 1]
        for place, seen in enumerate(numbers):
            event = operator("aten::mm", begin + place * half, half)
            events.append({**event, "args": {"Sequence number": seen}})
        events += [backward(begin + 2.5 * half, half), backward(begin + 4.5 * half, half)]
    return events


def write(path: Path, events: Sequence[Event], **head: Any) -> Path:
    """A document with events, compressed where its name says so."""
    return write_text(path, json.dumps({**head, "traceEvents": list(events)}))


def write_text(path: Path, text: str) -> Path:
    """Any text, compressed where the name of the file says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@dataclass(frozen=True)
class Imported:
    """The job that a recording became, and what was said about it."""

    job: Job
    intake: Intake
    backend: Backend

    def operations(self, worker: int = 0) -> list[dict[str, Any]]:
        """What a worker did, in order."""
        reader = FolderReader(self.backend, worker_folder(worker), OPERATIONS)
        reader.refresh()
        rows: list[dict[str, Any]] = reader.rows().to_pylist()
        return rows

    def steps(self) -> list[dict[str, Any]]:
        """The steps of all workers."""
        rows: list[dict[str, Any]] = self.job.steps().to_arrow().to_pylist()
        return rows


def imported(kind: str, path: Path, store: Path) -> Imported:
    """Imports whatever lies there."""
    importer = IMPORTERS.load(kind)()
    with JobDraft(str(store), "job", FakeClock()) as draft:
        intake = Intake(draft, lambda _size: None)
        importer.read_all(importer.sources(path), intake)
        draft.publish(("sonde", "import", kind, str(path)), str(path.parent))
    backend = open_backend(str(store / "job"))
    return Imported(Job(backend, FakeClock()), intake, backend)
