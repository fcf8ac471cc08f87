"""The words for what data loaders do, and what is known of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Operation(StrEnum):
    """What is done, as the rows of a loader's profile are called."""

    START = "iterator start"  # with the start of its processes
    BATCH = "batch"  # the making of one, in whichever process
    ITEMS = "items"  # of a batch: what the data set gave
    ITEM = "item"  # one of them, in the mean over a batch
    LONGEST_ITEM = "longest item"  # of a batch
    COLLATION = "collation"
    IDLE = "idle"  # a loader process has nothing to do, until the next batch
    WAIT = "next batch"  # the process that trains asks for one
    PINNING = "pinning"
    TRANSFER = "transfer"  # of something to the device


SINGLE_ITEMS = (Operation.ITEM, Operation.LONGEST_ITEM)  # one of many in a batch: no sum of them


@dataclass(frozen=True, slots=True)
class LoaderFacts:
    """What a script has asked of a loader."""

    processes: int = 0  # 0: the process that trains makes its batches itself
    batch_size: int | None = None
    is_pinning: bool = False
    prefetched: int | None = None  # batches per process, ahead of what is asked for
    keeps_processes: bool = False  # from one iterator to the next
    start_method: str | None = None
    dataset: str = ""
    collation: str = ""
    cores: int = 1  # that the process that trains may use


@dataclass(frozen=True, slots=True)
class LoaderHost:
    """The machine that a loader works on, as far as it was measured."""

    workers: int = 1  # that train there, and share its cores
    cores: float | None = None  # that the job may use, by all its limits
    busy_percent: float | None = None  # of all cores of the machine
    job_percent: float | None = None  # of one core, by the processes of the job


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
        """Until batches flow."""
        return self.seconds + self.first_wait_seconds


@dataclass(frozen=True, slots=True)
class BatchWait:
    """The process that trains waited for a batch, not one of the first of an iterator."""

    time_ns: int
    step: int
    seconds: float


@dataclass(frozen=True)
class LoaderRecord:
    """Everything that was recorded of one loader of one worker."""

    worker: int
    number: int
    device: str  # of the worker
    facts: LoaderFacts
    mode: str = "train"  # the one that it serves
    starts: Sequence[IteratorStart] = ()
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)  # by operation
    wait_steps: Sequence[int] = ()  # of each wait for a batch
    wait_times_ns: Sequence[int] = ()
    cpu_percent: float | None = None  # CPU time, of the time of the batches watched closely
    busy_percent: float | None = None  # of its processes, while they made the batches that we know
    stacks: Sequence[tuple[tuple[str, ...], float]] = ()  # seconds in each, from the outside in
    step_seconds: Sequence[float] = ()  # of the steps that it serves, without their waits
    step_waits: Sequence[float] = ()  # seconds that each of those steps waited
    batches_per_step: float = 1.0  # of those steps
    waited_percent: float | None = None  # of those steps
    host: LoaderHost = LoaderHost()
