"""The result of a recording."""

from dataclasses import dataclass

from sonde.records.job import Overhead
from sonde.records.notice import Notice


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to report at the end of a recording."""

    notices: tuple[Notice, ...]  # about data that was lost or not recorded
    overhead: Overhead
    is_exit_recorded: bool
    is_reported: bool = False
    is_reporting: bool = False  # a process that was left behind writes the report
    no_report: str | None = None  # why the requested report is missing
    unsent: str | None = None  # the folder of data that has not reached the store
