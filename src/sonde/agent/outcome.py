"""What a recording came to."""

from dataclasses import dataclass

from sonde.records.job import Overhead
from sonde.records.notice import Notice


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is left to say when a recording is over."""

    lost: tuple[Notice, ...]
    overhead: Overhead
    is_exit_recorded: bool
    is_reported: bool = False
    no_report: str | None = None  # why the report that was asked for is not written
    unsent: str | None = None  # the folder of what has not reached the store
