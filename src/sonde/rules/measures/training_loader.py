"""The data loader of the training batches, and how many processes it should have.

The advice is the same as that of `sonde dataloader`: it comes from the same function.
"""

from dataclasses import asdict, dataclass

from sonde.analyze.loader_processes import step_with
from sonde.analyze.loading import examine
from sonde.read.loader_hosts import with_host
from sonde.read.loading import read_loaders
from sonde.read.window import Window
from sonde.records.loading import LoaderRecord
from sonde.records.ranges import TimeRange
from sonde.records.step import Mode
from sonde.rules._rule import State


@dataclass(frozen=True, slots=True)
class TrainingLoader:
    """Configuration of the loader of the training batches, and advice."""

    processes: int
    cores: int
    advised: int | None = None  # processes; None if unknown
    advice: str = ""  # empty if loading keeps up over the whole run
    # seconds of a step with the recommended processes: best, expected and worst case
    step_seconds: tuple[float, ...] = ()


def read_training_loader(window: Window, worker: int) -> LoaderRecord | None:
    """Return the record of the training loader that was iterated last, or None if there is none."""
    time_range = TimeRange(window.attempt.start_ns, window.end_ns + 1)
    records = read_loaders(window.data.worker(worker), time_range)
    loaders = [record for record in records if record.mode == Mode.TRAIN.value and record.starts]
    return max(loaders, key=lambda record: record.starts[-1].time_ns, default=None)


def loader_facts(window: Window, worker: int, state: State) -> TrainingLoader | None:
    """Return the training loader of a worker with advice, or None if there is none.

    Reading it takes milliseconds, so the result is cached and refreshed at calls 1, 2, 4, 8 and so
    on. In the last window it is always refreshed, to match the advice on the finished job.
    """
    calls = state["asked"] = state.get("asked", 0) + 1
    if calls & (calls - 1) == 0 or window.is_last:
        state["loader"] = _examine_loader(window, worker)
    cached = state["loader"]
    return None if cached is None else TrainingLoader(**cached)


def cores_needed(loader_processes: int, cores: int) -> int:
    """Return how many cores a worker and its loader processes can use at once."""
    return max(1, min(1 + loader_processes, cores))


def _examine_loader(window: Window, worker: int) -> dict[str, object] | None:
    record = read_training_loader(window, worker)
    if record is None:
        return None
    node = window.attempt.node_of(worker)
    workers = sum(life.info.node == node for life in window.attempt.lives) or 1
    report = examine(with_host(record, window.data.node(node) if node else None, workers))
    loader = TrainingLoader(record.facts.processes, record.facts.cores)
    if report.processes is not None:
        advice = "" if report.loading.keeps_up else report.processes.text
        size = (loader.processes, loader.cores)
        on_cpu = record.device == "cpu"
        seconds = step_with(report.loading, report.processes.advised, shares_cores=on_cpu)
        loader = TrainingLoader(*size, report.processes.advised, advice, seconds)
    return asdict(loader)
