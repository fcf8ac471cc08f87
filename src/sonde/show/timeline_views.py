"""What show asks of a job's profiles of Python and of its timeline."""

from collections.abc import Mapping
from typing import Protocol

from sonde.analyze.flame import Flame
from sonde.analyze.python_profile import Hot
from sonde.read.python_profiles import ReadProfile
from sonde.read.system import SystemReader
from sonde.read.timeline import Timeline
from sonde.read.workers import WorkerReader
from sonde.show.rows import Rows


class HotView(Rows, Protocol):
    """What took time."""

    @property
    def rows(self) -> tuple[Hot, ...]:
        """What took most itself first."""


class PythonView(Rows, Protocol):
    """Where Python spent its time."""

    @property
    def windows(self) -> tuple[ReadProfile, ...]:
        """The profiles of one profiler."""

    @property
    def profiler(self) -> str:
        """How they were made."""

    def flame(self, least_share: float = 0.0) -> Flame:
        """Who called whom, as one tree."""

    def by(self, what: str) -> HotView:
        """Time by function, file or module."""


class ClocksView(Rows, Protocol):
    """How far the clocks of nodes are apart."""

    @property
    def offsets_ns(self) -> Mapping[str, int]:
        """What each node's clock shows more than the first one's."""

    @property
    def error_ns(self) -> int | None:
        """How far times of two nodes may be apart though they seem the same."""


class TimelineView(Rows, Protocol):
    """What workers did and machines measured, on one clock."""

    @property
    def readers(self) -> tuple[WorkerReader, ...]:
        """The workers."""

    @property
    def systems(self) -> tuple[SystemReader, ...]:
        """The nodes."""

    @property
    def clocks(self) -> ClocksView:
        """How times are corrected."""

    @property
    def data(self) -> Timeline:
        """All of it, as it was read."""
