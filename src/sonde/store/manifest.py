"""Manifests: content, files and checksums of sealed segments.

The footer of a Parquet file and each column of each row group have their own checksums. So reading
one series only verifies what is read, and damage costs one chunk.
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
    """Number of rows, time range and step range."""

    rows: int
    first_ns: int
    last_ns: int
    first_step: int | None = None
    last_step: int | None = None

    def overlaps(self, within: TimeRange, steps: StepRange) -> bool:
        """Whether any row may be in a range of time and steps."""
        has_time = within.overlaps(self.first_ns, self.last_ns)
        if self.first_step is None or self.last_step is None:
            return has_time
        return has_time and steps.overlaps(self.first_step, self.last_step)


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """A segment that was merged into this one, and its number of rows."""

    segment: str
    rows: int


@dataclass(frozen=True, slots=True)
class RollupBlock:
    """One row group of a roll-up file: a dense matrix of series by buckets of one width."""

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
    parts: tuple[SourceSegment, ...]
    series: tuple[Series, ...] = ()
    raw: SealedFile | None = None  # None after retention has removed the raw data
    rollup: SealedFile | None = None
    rollup_blocks: tuple[RollupBlock, ...] = ()
    damaged_frames: int = 0
