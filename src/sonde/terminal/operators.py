"""The output of `sonde operators`: time per device, operators, idle time and its causes."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_duration, format_percent, pluralize
from sonde.results.operators import significant_rows
from sonde.terminal.bars import bar
from sonde.terminal.styles import CPU, GPU, QUIET
from sonde.terminal.tables import table

Row = Mapping[str, Any]

_BAR = 20
_MAX_NAME_LENGTH = 60
_MAX_CALL_SITES = 5
_MAX_DEVICES = 16
_COLUMNS = {
    "compute": "compute",
    "communication_overlapped": "overlapped",
    "communication_exposed": "exposed",
    "copies": "copies",
    "idle": "idle",
    "not_covered": "not covered",
}
_CAUSES = {
    "host": "kernel launched late",
    "data": "waiting for data",
    "sync": "after a synchronization",
    "device": "between queued kernels",
    "unknown": "no launch recorded",
}
_TITLES = {
    "self": "self",
    "total": "total",
    "device_self": "on device",
    "device_total": "on device, total",
}


def operators_lines(document: Mapping[str, Any]) -> list[Text]:
    """All sections that were recorded."""
    steps, workers = document["steps"], document["workers"]
    of_workers = f" of {pluralize(workers, 'worker')}" if workers > 1 else ""
    in_steps = f"{pluralize(steps, 'step')} in " if steps else ""
    lines = [Text(f"{in_steps}{format_duration(document['window_seconds'])}{of_workers}")]
    lines += breakdown_lines(document["breakdown"])
    lines += _operator_lines(document)
    if document["by"] != "phase":
        lines += _phase_lines(document)
    lines += _gap_lines(document["gaps"]) + _synchronization_lines(document["synchronizations"])
    return lines + _launch_lines(document["launches"])


def breakdown_lines(rows: Sequence[Row]) -> list[Text]:
    """Time per device and activity; empty columns are omitted."""
    columns = [column for column in _COLUMNS if any(row[f"{column}_percent"] for row in rows)]
    left_out, rows = len(rows) - _MAX_DEVICES, rows[:_MAX_DEVICES]
    titles = ("device", "worker", *(_COLUMNS[column] for column in columns))
    cells = [
        (
            row["device"],
            str(row["worker"]),
            *(format_percent(row[f"{column}_percent"], 1) for column in columns),
        )
        for row in rows
    ]
    lines = [Text(), *table([titles, *cells], left_columns=1)]
    more = Text(f"… and {left_out} more; use --worker RANK or --json", QUIET)
    return [*lines, more] if left_out > 0 else lines


def _operator_lines(document: Mapping[str, Any]) -> list[Text]:
    rows = significant_rows(document["operators"])
    times = [name for name in _TITLES if rows and f"{name}_seconds" in rows[0]]
    group = document["group"]
    titles = (
        f"{group} on {document['device']}",
        "calls",
        *(_TITLES[time_name] for time_name in times),
        "share",
    )
    cells = [
        (
            _shortened(row["name"]) or f"no {group}",
            str(row["calls"]),
            *(format_duration(row[f"{time_name}_seconds"]) for time_name in times),
            format_percent(row["percent"], 1),
        )
        for row in rows
    ]
    hidden = document["operators"][len(rows) :]
    left_out = {
        "count": document["operators_left_out"]["count"] + len(hidden),
        "percent": document["operators_left_out"]["percent"]
        + sum(row["percent"] for row in hidden),
    }
    if left_out["count"]:
        name = pluralize(left_out["count"], "more", "more")
        cells.append((name, *[""] * (len(times) + 1), format_percent(left_out["percent"], 1)))
    uncovered = document["not_covered_percent"]
    cells.append(("not covered", *[""] * (len(times) + 1), format_percent(uncovered, 1)))
    shares = [*(row["percent"] for row in rows)]
    shares += [left_out["percent"]] if left_out["count"] else []
    return [
        Text(),
        *_with_bars(table([titles, *cells], left_columns=1), [*shares, uncovered], document),
    ]


def _phase_lines(document: Mapping[str, Any]) -> list[Text]:
    rows = document["phases"]
    if not rows:
        return []
    cells = [
        (row["name"], format_duration(row["self_seconds"]), format_percent(row["percent"], 1))
        for row in rows
    ]
    uncovered = document["not_covered_percent"]
    cells.append(("not covered", "", format_percent(uncovered, 1)))
    lines = table([(f"phase on {document['device']}", "time", "share"), *cells], left_columns=1)
    return [Text(), *_with_bars(lines, [*(row["percent"] for row in rows), uncovered], document)]


def _with_bars(
    lines: Sequence[Text], shares: Sequence[float], document: Mapping[str, Any]
) -> list[Text]:
    """Append a bar to each line except the header."""
    style = CPU if document["device"] == "cpu" else GPU
    width = max(line.cell_len for line in lines)
    with_bars = [lines[0]]
    for line, share in zip(lines[1:], shares, strict=True):
        line.pad_right(width - line.cell_len + 2)
        with_bars.append(line.append(bar(share, _BAR, style)))
    return with_bars


def _gap_lines(gaps: Mapping[str, Any]) -> list[Text]:
    if not gaps["causes"]:
        return []
    cells = [
        (
            row["cause"],
            _CAUSES.get(row["cause"], ""),
            str(row["gaps"]),
            format_duration(row["total_seconds"]),
            format_duration(row["longest_seconds"]),
            format_percent(row["percent"], 1),
        )
        for row in gaps["causes"]
    ]
    titles = ("idle", "cause", "gaps", "total", "longest", "share")
    return [Text(), *table([titles, *cells], left_columns=2), *_late_launch_lines(gaps["places"])]


def _late_launch_lines(rows: Sequence[Row]) -> list[Text]:
    """Call sites whose late launches left the device idle."""
    late = [row for row in rows if row["cause"] == "host"][:_MAX_CALL_SITES]
    if not late:
        return []
    cells = [
        (
            row["operator"],
            _joined(row["module"], row["phase"]),
            str(row["gaps"]),
            format_duration(row["total_seconds"]),
            format_percent(row["percent"], 1),
        )
        for row in late
    ]
    titles = ("launched late by", "in", "gaps", "device idle before", "share")
    return [Text(), *table([titles, *cells], left_columns=2)]


def _synchronization_lines(rows: Sequence[Row]) -> list[Text]:
    if not rows:
        return []
    cells = [
        (
            row["operator"],
            _joined(row["module"], row["line"], row["phase"]),
            str(row["calls"]),
            format_duration(row["blocked_seconds"]),
            format_duration(row["idle_seconds"]),
        )
        for row in rows[:_MAX_CALL_SITES]
    ]
    titles = ("waits for the device", "in", "calls", "host waits", "device idle after")
    lines = [Text(), *table([titles, *cells], left_columns=2)]
    more = len(rows) - _MAX_CALL_SITES
    return [*lines, Text(f"… and {more} more", QUIET)] if more > 0 else lines


def _launch_lines(rows: Sequence[Row]) -> list[Text]:
    lines = [Text(_launch_text(row)) for row in rows]
    return [Text(), *lines] if lines else []


def _launch_text(row: Row) -> str:
    kernels = pluralize(row["kernels"], "kernel")
    mean = format_duration(row["kernel_mean_seconds"])
    short = format_percent(row["short_percent"])
    call = format_duration(row["call_mean_seconds"])
    delay = format_duration(row["delay_p50_seconds"])
    return (
        f"{row['device']}: {kernels}, {mean} on average, {short} shorter than 10 µs. "
        f"A launch takes {call} on average; the median delay until the kernel starts is {delay}"
    )


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[: _MAX_NAME_LENGTH - 1]}…"
