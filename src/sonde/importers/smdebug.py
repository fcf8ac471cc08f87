"""Import recordings of smdebug and the SageMaker profiler."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sonde.errors import DamagedError, UsageError
from sonde.importers._damages import Damages, read_bytes
from sonde.importers._importer import Importer, Intake
from sonde.importers._rows import WorkerDescription, WorkerRows
from sonde.importers._sources import UNKNOWN_NODE, Source
from sonde.importers.horovod import HorovodImporter
from sonde.importers.smdebug_files.collections import Collections
from sonde.importers.smdebug_files.framework_traces import TraceFile, TraceFiles
from sonde.importers.smdebug_files.python_profiles import ProfileFile, read_profile
from sonde.importers.smdebug_files.system_metrics import MetricFile, MetricFiles
from sonde.importers.smdebug_files.tensors import EventFile, TensorFiles

_COLLECTIONS = re.compile(r"(?P<worker>.+)_collections\.json")
_INDEX = re.compile(r"\d{12}_.+\.json")
_RAW_HOROVOD = re.compile(r"horovod_timeline[^/]*\.json")
_RANK = re.compile(r"worker_(\d+)")
_FRAMEWORK = "smdebug"

Process = tuple[str, int]  # node, and rank or PID


class SmdebugImporter(Importer):
    """Recordings of smdebug and SageMaker Debugger: tensors, metrics, traces and profiles.

    The folder of a job, with `debug-output` and `profiler-output`, or one of these folders.
    """

    def needs(self, key: str) -> bool:
        path = Path(key)
        return _INDEX.fullmatch(path.name) is not None or _is_readable(path)

    def sources(self, path: Path) -> list[Source]:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder. Specify the folder with the job's output.")
        files = sorted(file for file in path.rglob("*") if file.is_file())
        sources = [Source(file) for file in files if _is_readable(file)]
        if not sources:
            raise UsageError(f"{path} has no recordings of smdebug.")
        return sources

    def read(self, source: Source, intake: Intake) -> None:
        self.read_all([source], intake)

    def read_all(self, sources: Sequence[Source], intake: Intake) -> None:
        recording = _Recording([source.path for source in sources], intake)
        recording.read_tensors()
        recording.read_metrics()
        recording.read_traces()
        recording.read_profiles()
        intake.remarks += recording.damages.remarks()
        for rows in intake.parts[:1]:
            rows.record_all_skipped(intake.left_out)


def _is_readable(file: Path) -> bool:
    kinds = (EventFile, MetricFile, TraceFile, ProfileFile)
    if any(kind.of(file) is not None for kind in kinds):
        return True
    return any(pattern.fullmatch(file.name) for pattern in (_COLLECTIONS, _RAW_HOROVOD))


class _Recording:
    """The files of one job by kind, and the ranks and nodes of its workers."""

    def __init__(self, files: Sequence[Path], intake: Intake) -> None:
        self.damages = Damages()
        self._files = files
        self._intake = intake
        self._events = sorted(filter(None, map(EventFile.of, files)), key=_step)
        self._metrics = list(filter(None, map(MetricFile.of, files)))
        self._traces = sorted(filter(None, map(TraceFile.of, files)), key=_end)
        self._profiles = sorted(filter(None, map(ProfileFile.of, files)), key=_start)
        self._workers = _ranks(dict.fromkeys(event.worker for event in self._events))
        self._processes = _ranks_of_processes(
            [(trace.node, trace.process) for trace in self._traces]
            + [(profile.node, profile.process) for profile in self._profiles]
        )

    def read_tensors(self) -> None:
        """Read the tensors of all workers."""
        collections = self._collections()
        for worker, rank in self._workers.items():
            rows = self._rows(rank)
            members = collections.get(worker) or Collections.default()
            tensors = TensorFiles(rows, members, self._intake)
            for file in self._events:
                if file.worker == worker:
                    tensors.read(file, self.damages)
            tensors.finish()

    def read_metrics(self) -> None:
        """Read the system metrics of all nodes."""
        for node in sorted({file.node for file in self._metrics}):
            metrics = MetricFiles(self._intake.node(node), self._intake)
            for file in self._metrics:
                if file.node == node:
                    metrics.read(file, self.damages)

    def read_traces(self) -> None:
        """Read the framework traces and Horovod timelines of all processes."""
        for (node, process), rank in self._processes.items():
            files = [file for file in self._traces if (file.node, file.process) == (node, process)]
            traces = TraceFiles(self._rows(rank, process), self._intake) if files else None
            for file in files:
                if file.is_horovod:
                    self._read_horovod(Source(file.path, rank, node, process))
                elif traces is not None:
                    traces.read(file, self.damages)
        for path in self._files:
            if _RAW_HOROVOD.fullmatch(path.name):
                self._read_horovod(Source(path, 0, self._node(0)))

    def read_profiles(self) -> None:
        """Read the Python profiles of all processes."""
        for file in self._profiles:
            rank = self._processes[file.node, file.process]
            read_profile(file, self._rows(rank, file.process), self._intake, self.damages)

    def _read_horovod(self, source: Source) -> None:
        try:
            HorovodImporter().read(source, self._intake)
        except DamagedError as error:
            self.damages.add_error("Horovod timeline", error)

    def _rows(self, rank: int, process: int = 0) -> WorkerRows:
        return self._intake.worker(
            WorkerDescription(rank, self._node(rank), pid=process, framework=_FRAMEWORK)
        )

    def _node(self, rank: int) -> str:
        """The node of a worker: from its traces, else the only or the proportional node."""
        nodes = [node for (node, _), number in self._processes.items() if number == rank]
        machines = sorted({file.node for file in self._metrics})
        if nodes and (nodes[0] in machines or not machines):
            return nodes[0]
        count = max([rank, *self._workers.values(), *self._processes.values()]) + 1
        return machines[rank * len(machines) // count] if machines else UNKNOWN_NODE

    def _collections(self) -> dict[str, Collections]:
        """The collections of each worker."""
        collections = {}
        for file in self._files:
            match = _COLLECTIONS.fullmatch(file.name)
            if match is not None:
                try:
                    data = read_bytes(file, self._intake.advance)
                    collections[match["worker"]] = Collections.decode(data)
                except (ValueError, RecursionError) as error:
                    self.damages.add("list of collections", file, f"cannot be read: {error}")
        return collections


def _step(file: EventFile) -> int:
    return file.global_step


def _end(file: TraceFile) -> int:
    return file.end_us


def _start(file: ProfileFile) -> int:
    return file.start_ns


def _ranks(workers: Iterable[str]) -> dict[str, int]:
    """The rank of each worker: the number in its name, else the next free number."""
    names = sorted(workers)
    ranks = {name: int(match[1]) for name in names if (match := _RANK.fullmatch(name))}
    free = (number for number in range(len(names)) if number not in ranks.values())
    return {name: ranks[name] if name in ranks else next(free) for name in names}


def _ranks_of_processes(processes: Sequence[Process]) -> Mapping[Process, int]:
    """The rank of each process: file names have ranks in a distributed job, and otherwise PIDs."""
    distinct = list(dict.fromkeys(processes))
    numbers = [number for _, number in distinct]
    if sorted(numbers) == list(range(len(numbers))):
        return {process: process[1] for process in distinct}
    return {process: rank for rank, process in enumerate(distinct)}
