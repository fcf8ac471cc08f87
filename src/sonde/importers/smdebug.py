"""Import recordings of smdebug and the SageMaker profiler."""

import re
from collections.abc import Sequence
from pathlib import Path

from sonde.errors import UsageError
from sonde.importers._damages import Damages, read_bytes
from sonde.importers._importer import Importer, Intake
from sonde.importers._rows import WorkerDescription
from sonde.importers._sources import UNKNOWN_NODE, Source
from sonde.importers.smdebug_files.collections import Collections
from sonde.importers.smdebug_files.tensors import EventFile, TensorFiles

_COLLECTIONS = re.compile(r"(?P<worker>.+)_collections\.json")
_RANK = re.compile(r"worker_(\d+)")
_UNFINISHED = ".tmp"


class SmdebugImporter(Importer):
    """Recordings of smdebug and SageMaker Debugger: tensors.

    The folder of a job, with `debug-output` and `profiler-output`, or one of these folders.
    """

    def sources(self, path: Path) -> list[Source]:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder. Specify the folder with the job's output.")
        files = sorted(file for file in path.rglob("*") if file.is_file())
        known = [file for file in files if EventFile.of(file) or _COLLECTIONS.fullmatch(file.name)]
        if not known:
            raise UsageError(f"{path} has no recordings of smdebug.")
        return [Source(file) for file in known]

    def read(self, source: Source, intake: Intake) -> None:
        self.read_all([source], intake)

    def read_all(self, sources: Sequence[Source], intake: Intake) -> None:
        damages = Damages()
        files = [source.path for source in sources]
        _read_tensors(files, intake, damages)
        intake.remarks += damages.remarks()


def _read_tensors(files: Sequence[Path], intake: Intake, damages: Damages) -> None:
    by_worker: dict[str, list[EventFile]] = {}
    for file in filter(None, map(EventFile.of, files)):
        by_worker.setdefault(file.worker, []).append(file)
    collections = _collections(files, intake, damages)
    for worker, rank in _ranks(by_worker).items():
        rows = intake.worker(
            WorkerDescription(rank, UNKNOWN_NODE, world_size=len(by_worker), framework="smdebug")
        )
        members = collections.get(worker) or Collections.default()
        tensors = TensorFiles(rows, members, intake)
        for file in sorted(by_worker[worker], key=lambda file: file.global_step):
            tensors.read(file, damages)
        tensors.finish()
        for mode, step in tensors.steps:
            rows.add_steps(mode, [step])


def _collections(files: Sequence[Path], intake: Intake, damages: Damages) -> dict[str, Collections]:
    """The collections of each worker."""
    collections = {}
    for file in files:
        match = _COLLECTIONS.fullmatch(file.name)
        if match is not None:
            try:
                data = read_bytes(file, intake.advance)
                collections[match["worker"]] = Collections.decode(data)
            except ValueError as error:
                damages.add("list of collections", file, f"cannot be read: {error}")
    return collections


def _ranks(workers: Sequence[str] | dict[str, list[EventFile]]) -> dict[str, int]:
    """The rank of each worker: the number in its name, else the next free number."""
    ranks = {name: int(match[1]) for name in workers if (match := _RANK.fullmatch(name))}
    free = (number for number in range(len(workers)) if number not in ranks.values())
    return {name: ranks[name] if name in ranks else next(free) for name in sorted(workers)}
