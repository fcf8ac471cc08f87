"""Lines that a job wrote to stdout and stderr."""

from dataclasses import dataclass

# in place of a stream: the text is the number of lines left out before the next line
OMITTED = "omitted"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line, and the step that was running when it was written."""

    time_ns: int
    worker: int | None  # None: read from a file that several processes write to
    step: int
    mode: str
    stream: str
    text: str
