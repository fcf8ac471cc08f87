"""The overhead of recording a job, from the heartbeats of its launchers and workers."""

from collections.abc import Iterator, Sequence

from sonde.read.documents import read_document
from sonde.records.documents import OverheadDocument
from sonde.records.job import Overhead
from sonde.records.worker import WorkerBeat
from sonde.store.backends import Backend
from sonde.store.layout import WORKERS, is_number, parse_life, worker_folder, worker_key


def combine_overhead(
    launchers: Sequence[Overhead], workers: Sequence[WorkerBeat]
) -> OverheadDocument:
    """Sonde's overhead in a job.

    `hook_percent` is the time of hooks in the training thread in percent of step time, of the
    worker with the highest value. `launcher_percent` is CPU time in percent of one core, of the
    node with the highest value. `percent` is `hook_percent` if a worker trains, else
    `launcher_percent`.
    """
    cores = [launcher.percent for launcher in launchers if launcher.percent is not None]
    hooks = [
        100 * worker.hook_seconds / worker.training_seconds
        for worker in workers
        if worker.training_seconds
    ]
    launcher_percent = round(max(cores), 3) if cores else None
    hook_percent = round(max(hooks), 3) if hooks else None
    cpu_seconds = sum(launcher.cpu_seconds for launcher in launchers)
    cpu_seconds += sum(worker.hook_seconds + worker.thread_seconds for worker in workers)
    bytes_written = sum(launcher.bytes_written for launcher in launchers)
    bytes_written += sum(worker.bytes_written for worker in workers)
    return {
        "percent": launcher_percent if hook_percent is None else hook_percent,
        "hook_percent": hook_percent,
        "launcher_percent": launcher_percent,
        "cpu_seconds": round(cpu_seconds, 3),
        "bytes_written": bytes_written,
    }


def read_worker_beats(backend: Backend, attempt: int) -> Iterator[WorkerBeat]:
    """The last heartbeat of every worker of an attempt."""
    for rank in (int(name) for name in backend.folders(WORKERS) if is_number(name)):
        lives = (parse_life(folder) for folder in backend.folders(worker_folder(rank)))
        for numbers in lives:
            if numbers is not None and numbers[0] == attempt:
                key = worker_key(rank, *numbers, "beat")
                beat = read_document(WorkerBeat, backend, key, [])
                yield from () if beat is None else (beat,)
