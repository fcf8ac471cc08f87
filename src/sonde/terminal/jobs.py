"""The output of `sonde jobs`."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.drawing.printable import escape_text
from sonde.formats import UNKNOWN, format_duration, format_local_minute, format_local_time
from sonde.results.previous_run import SpeedChange
from sonde.results.verdict import reason
from sonde.terminal.styles import QUIET, severity_style, state_style
from sonde.terminal.tables import table

_MIN_NAME = 12  # columns
_MIN_REASON = 24  # with less room, the reason gets a line of its own
_GAP = 2

_Job = Mapping[str, Any]


def jobs_lines(jobs: Sequence[_Job], width: int | None = None) -> list[Text]:
    """A table of jobs, one line per job in a pipe.

    On a terminal, long names are shortened in their middle, so that all columns stay visible.

    Args:
        jobs: The documents of `sonde jobs --json`.
        width: The width of the terminal; None if the output is not a terminal.
    """
    names = [escape_text(job["job"]) for job in jobs]
    reasons = [escape_text(_remark(job)) for job in jobs]
    columns = _columns(jobs, is_narrow=width is not None)
    has_reasons = width is None
    if width is not None:
        used = sum(max(map(len, column)) + _GAP for column in columns)
        longest = max(4, *map(len, names))
        has_reasons = width - used - longest - _GAP >= _MIN_REASON
        name_width = longest if has_reasons else max(_MIN_NAME, width - used)
        names = [_shortened(name, name_width) for name in names]
    columns = [["job", *names], *columns, *([["reason", *reasons]] if has_reasons else [])]
    rows = list(zip(*columns, strict=True))
    head, *lines = table(rows, left_columns=3, is_last_left=has_reasons)
    shown = [head]
    for job, line, row, text in zip(jobs, lines, rows[1:], reasons, strict=True):
        shown.append(_styled(line, row, job))
        if text and not has_reasons:
            shown.append(Text(f"  {text}", QUIET))
    for line in shown if width is not None else ():
        line.truncate(width or 0, overflow="ellipsis")
    return shown


def _columns(jobs: Sequence[_Job], *, is_narrow: bool) -> list[list[str]]:
    """The columns between name and reason, each with its title."""
    start = format_local_minute if is_narrow else format_local_time
    columns = [
        ["state", *(job["state"] for job in jobs)],
        ["started", *(start(job["start_time"]) for job in jobs)],
        ["duration", *(format_duration(job["duration_seconds"]) for job in jobs)],
        ["findings", *(_findings(job) for job in jobs)],
    ]
    if not is_narrow or any(len(job["nodes"]) > 1 for job in jobs):
        columns.append(["nodes", *(str(len(job["nodes"])) for job in jobs)])
    return columns


def _remark(job: _Job) -> str:
    """Why a job failed, and otherwise a change of its speed; then group, tags and note."""
    change = job.get("speed_change")
    texts = [reason(job).partition("\n")[0] or (SpeedChange(**change).text if change else "")]
    texts += [f"[{label}]" for label in (job.get("group"), *job.get("tags", ())) if label]
    texts.append((job.get("note") or "").partition("\n")[0])
    return " ".join(filter(None, texts))


def _findings(job: _Job) -> str:
    """The findings of the highest severity, and how many there are: `1 critical of 4`."""
    counts = job["findings"]
    if counts is None:
        return UNKNOWN  # no rules were run
    if not counts:
        return "none"
    severity, count = next(iter(counts.items()))
    total = sum(counts.values())
    return f"{count} {severity}" + (f" of {total}" if total > count else "")


def _shortened(text: str, width: int) -> str:
    """The start and the end of a long text: names often differ in their ends."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def _styled(line: Text, row: Sequence[str], job: _Job) -> Text:
    state, findings = row[1], row[4]
    for word, style in ((state, state_style(state)), (findings, _finding_style(job))):
        start = line.plain.find(word, len(row[0]))
        line.stylize(style, start, start + len(word))
    return line


def _finding_style(job: _Job) -> str:
    return next(iter(map(severity_style, job["findings"] or ())), QUIET)
