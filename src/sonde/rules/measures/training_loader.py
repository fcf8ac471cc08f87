"""The loader that serves a training, and how many processes it should have.

The answer is the one that `sonde dataloader` prints: the same function of the same records.
"""

from dataclasses import asdict, dataclass

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
    """Facts and advice about the loader of the training batches."""

    processes: int
    cores: int
    advised: int | None = None  # processes; None where that cannot be told
    advice: str = ""  # empty where loading keeps up over the whole run


def training_loader(window: Window, worker: int) -> LoaderRecord | None:
    """What was recorded so far of the loader that serves training; of several, the latest."""
    within = TimeRange(window.attempt.start_ns, window.end_ns + 1)
    records = read_loaders(window.data.worker(worker), within)
    serving = [record for record in records if record.mode == Mode.TRAIN.value and record.starts]
    return max(serving, key=lambda record: record.starts[-1].time_ns, default=None)


def loader_of(window: Window, worker: int, state: State) -> TrainingLoader | None:
    """The loader that serves a worker, and what to do about it; None where there is none.

    To read it takes milliseconds: the longer somebody asks, the less often it is read again. At the
    end it always is, so that it says what everybody else says about the finished job.
    """
    calls = state["asked"] = state.get("asked", 0) + 1
    if calls & (calls - 1) == 0 or window.is_last:
        state["loader"] = _examined(window, worker)
    cached = state["loader"]
    return None if cached is None else TrainingLoader(**cached)


def cores_wanted(loaders: int, cores: int) -> int:
    """How many cores a worker and its loader processes would use at once."""
    return max(1, min(1 + loaders, cores))


def _examined(window: Window, worker: int) -> dict[str, object] | None:
    record = training_loader(window, worker)
    if record is None:
        return None
    node = window.attempt.node_of(worker)
    workers = sum(life.info.node == node for life in window.attempt.lives) or 1
    report = examine(with_host(record, window.data.node(node) if node else None, workers))
    loader = TrainingLoader(record.facts.processes, record.facts.cores)
    if report.processes is not None:
        advice = "" if report.loading.keeps_up else report.processes.text
        size = (loader.processes, loader.cores)
        loader = TrainingLoader(*size, report.processes.advised, advice)
    return asdict(loader)
