"""Data loaders: their operations, settings and measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Operation(StrEnum):
    """An operation of a data loader, as recorded in its profile."""

    START = "iterator start"  # including the start of its processes
    BATCH = "batch"  # loading one batch, in any process
    ITEMS = "items"  # reading the items of a batch from the data set
    ITEM = "item"  # one item, averaged over a batch
    LONGEST_ITEM = "longest item"  # the slowest item of a batch
    COLLATION = "collation"
    IDLE = "idle"  # a loader process waits for its next batch
    WAIT = "next batch"  # the training process waits for a batch
    PINNING = "pinning"
    TRANSFER = "transfer"  # a copy to the device


SINGLE_ITEMS = (Operation.ITEM, Operation.LONGEST_ITEM)  # per-item values that must not be summed


@dataclass(frozen=True, slots=True)
class LoaderFacts:
    """The arguments of a data loader."""

    processes: int = 0  # 0: batches are loaded in the main process
    batch_size: int | None = None
    is_pinning: bool = False
    prefetched: int | None = None  # batches per process loaded in advance
    keeps_processes: bool = False  # persistent_workers
    start_method: str | None = None
    dataset: str = ""
    collation: str = ""
    cores: int = 1  # available to the training process


@dataclass(frozen=True, slots=True)
class LoaderHost:
    """Measurements of the machine that a loader runs on."""

    workers: int = 1  # training processes that share the machine
    cores: float | None = None  # available to the job, all limits considered
    busy_percent: float | None = None  # of all cores of the machine
    job_percent: float | None = None  # percent of one core, used by the job's processes


HOST_METRICS = {
    "cores": "cgroup.cpus_available",
    "busy_percent": "cpu.utilization_percent",
    "job_percent": "process_tree.cpu_percent",
}


@dataclass(frozen=True, slots=True)
class IteratorStart:
    """The start of an iterator, and the waits for the first batch of each of its processes."""

    time_ns: int
    seconds: float
    first_wait_seconds: float

    @property
    def total_seconds(self) -> float:
        """Time until batches arrive steadily."""
        return self.seconds + self.first_wait_seconds


@dataclass(frozen=True, slots=True)
class BatchWait:
    """A wait of the training process for a batch, except the first ones of an iterator."""

    time_ns: int
    step: int
    seconds: float


@dataclass(frozen=True)
class LoaderRecord:
    """Everything recorded about one data loader of one worker."""

    worker: int
    number: int
    device: str  # of the worker
    facts: LoaderFacts
    mode: str = "train"  # of the steps it serves
    starts: Sequence[IteratorStart] = ()
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)  # by operation
    wait_steps: Sequence[int] = ()  # of each wait for a batch
    wait_times_ns: Sequence[int] = ()
    cpu_percent: float | None = None  # CPU time in percent of load time, from sampled batches
    busy_percent: float | None = None  # share of time its processes were busy
    stacks: Sequence[tuple[tuple[str, ...], float]] = ()  # seconds per stack, outermost frame first
    step_seconds: Sequence[float] = ()  # of the steps it serves, without data waits
    step_waits: Sequence[float] = ()  # data wait of each of those steps
    batches_per_step: float = 1.0  # of those steps
    waited_percent: float | None = None  # data wait of all unprofiled steps of its mode
    host: LoaderHost = LoaderHost()
