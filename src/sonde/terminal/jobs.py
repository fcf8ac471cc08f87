"""The output of `sonde jobs`."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_duration, format_local_time
from sonde.results.verdict import reason
from sonde.terminal.output import readable
from sonde.terminal.styles import state_style
from sonde.terminal.tables import table


def jobs_lines(jobs: Sequence[Mapping[str, Any]], width: int | None = None) -> list[Text]:
    """A table of jobs, truncated to a width if there is one."""
    titles = ("job", "state", "started", "duration", "nodes", "reason")
    rows = [
        (
            job["job"],
            job["state"],
            format_local_time(job["start_time"]),
            format_duration(job["duration_seconds"]),
            str(len(job["nodes"])),
            reason(job).partition("\n")[0],
        )
        for job in jobs
    ]
    lines = table([titles, *rows], left_columns=3, is_last_left=True)
    first = max(len(row[0]) for row in [titles, *rows]) + 2
    for line, job in zip(lines[1:], jobs, strict=True):
        line.stylize(state_style(job["state"]), first, first + len(job["state"]))
    lines = [readable(line) for line in lines]
    for line in lines if width is not None else ():
        line.truncate(width or 0, overflow="ellipsis")
    return lines
