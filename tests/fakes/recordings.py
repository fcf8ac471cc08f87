"""Handmade traces of other profilers in Chrome's format."""

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
    name: str, start: float, duration: float, thread: tuple[Any, Any] = HOST, **more: Any
) -> Event:
    """Return a complete event; times are in microseconds."""
    pid, tid = thread
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
    """Return an operator of PyTorch on the training thread."""
    return span(name, start, duration, cat="cpu_op", args=arguments)


def annotation(name: str, start: float, duration: float) -> Event:
    """Return an annotation of PyTorch or the script."""
    return span(name, start, duration, cat="user_annotation")


def named(what: str, name: str, pid: Any, tid: Any = 0) -> Event:
    """Return the name of a process or thread as a metadata event."""
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def backward(start: float, duration: float) -> Event:
    """Return an event of a backward pass, on the autograd thread."""
    name = "autograd::engine::evaluate_function: MmBackward0"
    return span(name, start, duration, AUTOGRAD, cat="cpu_op")


def training_step(number: int, start: float, sequence: int = 0, passes: int = 1) -> list[Event]:
    """Return 1000 µs: data 100, forward 200 and backward 300 (split by passes), optimizer 100."""
    events = [
        annotation(f"ProfilerStep#{number}", start, 1000),
        annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + 10, 100),
        annotation("Optimizer.step#SGD.step", start + 800, 100),
        annotation("Optimizer.zero_grad#SGD.zero_grad", start + 920, 10),
    ]
    for pass_index in range(passes):
        begin = start + 120 + 600 / passes * pass_index
        half = 100 / passes
        numbers = [sequence + 2 * pass_index, sequence + 2 * pass_index + 1]
        for index, sequence_number in enumerate(numbers):
            event = operator("aten::mm", begin + index * half, half)
            events.append({**event, "args": {"Sequence number": sequence_number}})
        events += [backward(begin + 2.5 * half, half), backward(begin + 4.5 * half, half)]
    return events


def write(path: Path, events: Sequence[Event], **head: Any) -> Path:
    """Write a trace, compressed if its name ends in .gz."""
    return write_text(path, json.dumps({**head, "traceEvents": list(events)}))


def write_text(path: Path, text: str) -> Path:
    """Write a text, compressed if the file name ends in .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@dataclass(frozen=True)
class Imported:
    """An imported job and the remarks of the import."""

    job: Job
    intake: Intake
    backend: Backend

    def operations(self, worker: int = 0) -> list[dict[str, Any]]:
        """Return the operations of a worker in order."""
        reader = FolderReader(self.backend, worker_folder(worker), OPERATIONS)
        reader.refresh()
        rows: list[dict[str, Any]] = reader.rows().to_pylist()
        return rows

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps of all workers."""
        rows: list[dict[str, Any]] = self.job.steps().to_arrow().to_pylist()
        return rows


def imported(kind: str, path: Path, store: Path) -> Imported:
    """Import the traces at a path."""
    importer = IMPORTERS.load(kind)()
    with JobDraft(str(store), "job", FakeClock()) as draft:
        intake = Intake(draft, lambda _size: None)
        importer.read_all(importer.sources(path), intake)
        draft.publish(("sonde", "import", kind, str(path)), str(path.parent))
    backend = open_backend(str(store / "job"))
    return Imported(Job(backend, FakeClock()), intake, backend)
