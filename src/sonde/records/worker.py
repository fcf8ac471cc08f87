"""Workers (training processes): their start, progress, tensors and failures."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.records.job import ExitReason
from sonde.records.profile import RunningWindow
from sonde.records.renamed import renamed


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Facts about a training process, fixed at its start."""

    rank: int
    node: str
    attempt: int
    restart: int  # number of elastic restarts of this rank
    pid: int
    start_ns: int
    world_size: int = 1
    local_rank: int = 0
    framework: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"
    device_name: str = ""  # the model of the GPU

    @property
    def is_on_gpu(self) -> bool:
        """Whether it trains on a GPU."""
        return self.device.startswith("cuda")


@dataclass(frozen=True, slots=True)
class WorkerBeat:
    """The heartbeat of a worker: its progress and the overhead of its hook."""

    time_ns: int
    steps: Mapping[str, int]  # completed steps by mode
    hook_seconds: float  # in the training thread
    thread_seconds: float  # CPU time of the hook's threads
    training_seconds: float  # duration of all steps so far
    bytes_written: int
    is_over: bool = False
    window: RunningWindow | None = None  # the open profiling window


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Facts about a tensor."""

    name: str
    collections: tuple[str, ...]
    dtype: str
    shape: tuple[int, ...]
    is_shard: bool = False  # each worker holds a shard; statistics are summed over workers
    note: str = renamed("said", default="")  # for readers, such as "before clipping"


@dataclass(frozen=True, slots=True)
class TensorIndex:
    """All tensors that a worker has recorded."""

    tensors: tuple[TensorInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoint files a worker saved, with the number of training steps completed."""

    steps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that ended a worker."""

    rank: int
    time_ns: int
    reason: ExitReason
    message: str
    traceback: str
    detail: str = ""  # shown after the traceback, such as the allocator's summary
    collective: str = ""  # the collective that failed
