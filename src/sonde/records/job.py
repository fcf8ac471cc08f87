"""A job, its attempts on its nodes, and how they ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

_SHORT_SECONDS = 30.0


class JobState(StrEnum):
    """The state of a job."""

    STARTING = "starting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    ENDED = "ended"  # over, exit code unknown: an attached process, or an import

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
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
    """Facts about a job, fixed at its creation."""

    name: str
    created_ns: int
    created_by: str  # the node whose launcher created the job


@dataclass(frozen=True, slots=True)
class Launcher:
    """The process that writes for a node, with enough detail to check whether it is alive."""

    pid: int
    started: str  # distinguishes it from a later process with the same PID
    space: str  # the boot ID and PID namespace in which the PID is valid


@dataclass(frozen=True, slots=True)
class Attempt:
    """One launch of the command on one node."""

    node: str
    number: int
    start_ns: int
    command: tuple[str, ...]
    folder: str
    process_pid: int
    launcher: Launcher
    interval_seconds: float
    run_id: str = ""  # in the environment of every process of the attempt, as SONDE_RUN_ID
    spool: str = ""  # the node's folder for data not yet sent to the store
    price_per_gpu_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment of an attempt; collected in the background, so it may be missing at first."""

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
    # the end of the message that only the launcher knows; None: from a version without this field
    hint: str | None = None
    # the last lines of its streams, if they went to files
    output_tail: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overhead:
    """What Sonde itself cost on one node."""

    cpu_seconds: float
    bytes_written: int
    wall_seconds: float

    @property
    def percent(self) -> float | None:
        """CPU time in percent of one core; None for short jobs, where start-up dominates."""
        if self.wall_seconds < _SHORT_SECONDS:
            return None
        return 100 * self.cpu_seconds / self.wall_seconds

    def plus(self, cpu_seconds: float) -> "Overhead":
        """A copy with CPU time added."""
        return replace(self, cpu_seconds=self.cpu_seconds + cpu_seconds)


@dataclass(frozen=True, slots=True)
class ReportCost:
    """CPU time of reports that no heartbeat includes."""

    cpu_seconds: float
    time_ns: int


@dataclass(frozen=True, slots=True)
class ReportWriting:
    """The process that finishes a report after the job."""

    process: Launcher
    time_ns: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A heartbeat, and when the next one is due."""

    time_ns: int
    every_seconds: float
    overhead: Overhead
    wall_ns: int | None = None  # wall-clock time, comparable with other machines' clocks
    interval_seconds: float | None = None  # how often the machine is sampled now
    is_monitoring: bool | None = None  # None: written by a version without this field
