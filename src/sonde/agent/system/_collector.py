"""The interface of a collector, which reads one resource of the machine.

The sampler schedules collectors, handles their failures, writes their values and measures their
cost.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde.records.metric import MetricInfo, Series

UNKNOWN = float("nan")  # not measured at this tick


@dataclass(frozen=True)
class Machine:
    """What to measure: the system's files, the job's process and its paths."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    job_pid: int | None = None
    job_mark: str = ""  # NAME=value in the environment of every process of the job
    paths: tuple[Path, ...] = ()


class Collector(ABC):
    """Reads one resource: opened once, read at every tick, closed at the end.

    The docstring of a collector is its text in the reference: a summary, then its requirements.
    """

    interval_seconds: float = 0.0  # minimum time between reads; 0: every tick
    is_slow: bool = False  # reads may block for milliseconds: use a separate thread
    # Whether it measures the job's processes instead of the machine. Further launchers of a job on
    # the same machine read only these collectors.
    is_of_processes: bool = False

    metrics: tuple[MetricInfo, ...]  # all metrics it may record on any machine

    # The series that `read` returns, in order. If they change, assign a new tuple before `read`
    # returns.
    series: tuple[Series, ...] = ()

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @abstractmethod
    def open(self) -> None:
        """Open files, find devices and set `series`.

        Raises:
            NothingToCollectError: Not available on this machine; the message says what is missing.
        """

    @abstractmethod
    def read(self, seconds: float) -> Sequence[float]:
        """The current values, one per series; UNKNOWN if not measured (rates at first).

        Args:
            seconds: A monotonic reading of the clock, for rates.
        """

    def close(self) -> None:
        """Close files and devices."""
