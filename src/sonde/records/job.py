"""A job, its attempts on its nodes, and how they ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

_SHORT_SECONDS = 30.0


class JobState(StrEnum):
    """Where a job stands."""

    STARTING = "starting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    ENDED = "ended"  # it is over, and only its parent knows how: a process we were attached to

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self not in (JobState.STARTING, JobState.RUNNING)


class ExitReason(StrEnum):
    """Why a job ended."""

    EXIT = "exit"
    EXCEPTION = "exception"
    SIGNAL = "signal"
    HOST_OUT_OF_MEMORY = "host-out-of-memory"
    DEVICE_OUT_OF_MEMORY = "device-out-of-memory"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class JobInfo:
    """What is true of a job as a whole from its first moment on."""

    name: str
    created_ns: int
    created_by: str  # the node whose launcher made the job


@dataclass(frozen=True, slots=True)
class Launcher:
    """The process that writes for a node: enough to tell whether it is still there."""

    pid: int
    started: str  # tells it from a later process of the same number
    space: str  # the boot and the process space in which that number means something


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of the command on one node."""

    node: str
    number: int
    start_ns: int
    command: tuple[str, ...]
    folder: str
    process_pid: int
    launcher: Launcher
    interval_seconds: float
    run_id: str = ""  # in the environment of every process of the attempt, as SONDE_RUN_ID
    spool: str = ""  # the folder of the node where what is on its way to the store lies


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where an attempt ran; found out while it runs already, so it may come late."""

    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    git: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exit:
    """How one attempt on one node ended."""

    state: JobState
    reason: ExitReason
    end_ns: int
    code: int | None = None
    signal: str | None = None
    message: str | None = None
    left_running: tuple[str, ...] = ()  # processes of the job that outlived its command
    traceback: str | None = None  # of the exception that ended it
    worker: int | None = None  # the rank that failed first


@dataclass(frozen=True, slots=True)
class Overhead:
    """What Sonde itself cost on one node."""

    cpu_seconds: float
    bytes_written: int
    wall_seconds: float

    @property
    def percent(self) -> float | None:
        """CPU time per wall time, in percent of one core; of a short job it is all start-up."""
        if self.wall_seconds < _SHORT_SECONDS:
            return None
        return 100 * self.cpu_seconds / self.wall_seconds

    def plus(self, cpu_seconds: float) -> "Overhead":
        """The same with more CPU time."""
        return replace(self, cpu_seconds=self.cpu_seconds + cpu_seconds)


@dataclass(frozen=True, slots=True)
class ReportCost:
    """What reports of a job have cost that no sign of life counts, so far."""

    cpu_seconds: float
    time_ns: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life, and when the next one is due."""

    time_ns: int
    every_seconds: float
    overhead: Overhead
    wall_ns: int | None = None  # by the wall clock: what other machines can compare with theirs
    interval_seconds: float | None = None  # how often the machine is sampled now
    is_monitoring: bool | None = None  # None: recorded by a version that did not say
