"""Units of time, and the job behind a path."""

from enum import Enum

import sonde
from smdebug.exceptions import MissingCollectionFiles
from smdebug.trials.recording import find_recording


class TimeUnits(Enum):
    """Units of the times that are passed to readers."""

    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


_PER_SECOND = {
    TimeUnits.SECONDS: 1,
    TimeUnits.MILLISECONDS: 10**3,
    TimeUnits.MICROSECONDS: 10**6,
    TimeUnits.NANOSECONDS: 10**9,
}


def to_microseconds(time: float, unit: TimeUnits) -> int:
    """A time in microseconds."""
    return round(time * 10**6 / _PER_SECOND[unit])


def open_job(path: str) -> sonde.Job:
    """The job in a folder, or of a name.

    Raises:
        MissingCollectionFiles: There is none.
    """
    recording = find_recording(path)
    if recording is None:
        raise MissingCollectionFiles(path)
    return recording.job


def start_microseconds(job: sonde.Job) -> int:
    """When a job began."""
    return (job.facts.start_ns or 0) // 1000
