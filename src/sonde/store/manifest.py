"""Manifests: what a sealed segment holds, where, and how to tell that it is intact.

A segment's bytes are trusted chunk by chunk: the footer of the Parquet file and each column of each
row group have their own checksum, so reading one series checks just what is read, and damage costs
one chunk.
"""

from dataclasses import dataclass

from sonde.records.metric import Series
from sonde.records.ranges import StepRange, TimeRange


@dataclass(frozen=True, slots=True)
class SealedFile:
    """One Parquet file: its key, its size and its checksums."""

    key: str
    size: int
    footer_crc32: int
    chunks_crc32: tuple[str, ...]  # per row group: eight hexadecimal digits for each column


@dataclass(frozen=True, slots=True)
class Extent:
    """How many rows, from when to when, from which step to which."""

    rows: int
    first_ns: int
    last_ns: int
    first_step: int | None = None
    last_step: int | None = None

    def overlaps(self, within: TimeRange, steps: StepRange) -> bool:
        """Whether any row may lie in a range of time and of steps."""
        has_time = within.overlaps(self.first_ns, self.last_ns)
        if self.first_step is None or self.last_step is None:
            return has_time
        return has_time and steps.overlaps(self.first_step, self.last_step)


@dataclass(frozen=True, slots=True)
class Part:
    """A segment that went into this one, and how many of its rows; in the order of the rows."""

    segment: str
    rows: int


@dataclass(frozen=True, slots=True)
class RollupBlock:
    """One row group of a roll-up file: a dense matrix of some series by buckets of one width."""

    width_ns: int
    first_series: int
    series: int
    buckets: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A sealed segment."""

    segment: str
    family: str
    extent: Extent
    row_groups: tuple[Extent, ...]
    parts: tuple[Part, ...]
    series: tuple[Series, ...] = ()
    raw: SealedFile | None = None  # None once retention has taken the raw data away
    rollup: SealedFile | None = None
    rollup_blocks: tuple[RollupBlock, ...] = ()
    damaged_frames: int = 0
