"""A worker: one training process, what it is doing, and why it died."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.records.job import ExitReason
from sonde.records.profile import RunningWindow


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One training process, from its first moment on."""

    rank: int
    node: str
    attempt: int
    restart: int  # how often an elastic launcher has started this rank again
    pid: int
    start_ns: int
    world_size: int = 1
    local_rank: int = 0
    framework: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class WorkerBeat:
    """How far a worker is, and what the hook inside it has cost so far."""

    time_ns: int
    steps: Mapping[str, int]  # finished so far, by mode
    hook_seconds: float  # inside the training thread
    thread_seconds: float  # CPU time of the hook's own threads
    training_seconds: float  # all steps so far
    bytes_written: int
    is_over: bool = False
    window: RunningWindow | None = None  # in which a profiler looks deeper


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What is known of a tensor beside its numbers."""

    name: str
    collections: tuple[str, ...]
    dtype: str
    shape: tuple[int, ...]
    is_shard: bool = False  # the workers hold parts of one tensor, and their statistics add up
    said: str = ""  # what one must know to read it: "before clipping"


@dataclass(frozen=True, slots=True)
class TensorIndex:
    """All tensors that a worker has recorded so far."""

    tensors: tuple[TensorInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Which files a worker has saved, and how many training steps it had done by then."""

    steps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a worker died, as it saw it itself."""

    rank: int
    time_ns: int
    reason: ExitReason
    message: str
    traceback: str
    detail: str = ""  # the allocator's summary, the collective that failed
