"""What a collector is: something that reads one part of the machine.

A collector never waits, never writes and never guards itself; the sampler does all that, and
measures what each one costs.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde.records.metric import MetricInfo, Series

UNKNOWN = float("nan")  # a value that was not measured at this tick


@dataclass(frozen=True)
class Machine:
    """What is to be measured: the machine's own files, the job's process, the paths it uses."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    job_pid: int | None = None
    job_mark: str = ""  # NAME=value in the environment of every process of the job
    paths: tuple[Path, ...] = ()


class Collector(ABC):
    """Reads one part of the machine: opened once, read at every tick, closed at the end.

    The docstring of a collector is its page in the reference: a first line, then what it needs.
    """

    interval_seconds: float = 0.0  # read no more often than this; 0: at every tick
    is_slow: bool = False  # a read may block for milliseconds: read in a thread beside the ticks

    metrics: tuple[MetricInfo, ...]  # all that it may record, on whatever machine

    # What `read` returns, in that order. A collector that finds more or fewer things
    # puts a new tuple here before it returns from `read`.
    series: tuple[Series, ...] = ()

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @abstractmethod
    def open(self) -> None:
        """Opens files, finds devices and fills `series`.

        Raises:
            NothingToCollectError: This machine has no such thing; the message says what is missing.
        """

    @abstractmethod
    def read(self, seconds: float) -> Sequence[float]:
        """The present values, one per series; UNKNOWN where there is none (rates at first).

        Args:
            seconds: A monotonic reading of the clock, for rates.
        """

    def close(self) -> None:
        """Lets go of files and devices."""
