"""What a profile of operators says, for people: shares first, then who, then why not more."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_duration, format_percent, pluralize
from sonde.terminal.bars import bar
from sonde.terminal.styles import CPU, GPU, QUIET
from sonde.terminal.text import table

Row = Mapping[str, Any]

_BAR = 20
_LONGEST_NAME = 60
_MOST_PLACES = 5
_MOST_DEVICES = 16
_PARTS = {
    "compute": "compute",
    "communication_overlapped": "overlapped",
    "communication_exposed": "exposed",
    "copies": "copies",
    "idle": "idle",
    "not_covered": "not covered",
}
_CAUSES = {
    "host": "the host launched too late",
    "data": "the host waited for data",
    "sync": "the host had waited for the device",
    "device": "between kernels that were queued",
    "unknown": "no launch is known",
}
_TITLES = {
    "self": "self",
    "total": "total",
    "device_self": "on device",
    "device_total": "with inner",
}


def operators_lines(document: Mapping[str, Any]) -> list[Text]:
    """All of it; what was not recorded is left out."""
    steps, workers = document["steps"], document["workers"]
    whose = f" of {pluralize(workers, 'worker')}" if workers > 1 else ""
    looked = f"{pluralize(steps, 'step')} in " if steps else ""
    lines = [Text(f"{looked}{format_duration(document['window_seconds'])}{whose}")]
    lines += breakdown_lines(document["breakdown"])
    lines += _operator_lines(document)
    if document["by"] != "phase":
        lines += _phase_lines(document)
    lines += _gap_lines(document["gaps"]) + _place_lines(document["synchronizations"])
    return lines + _launch_lines(document["launches"])


def breakdown_lines(rows: Sequence[Row]) -> list[Text]:
    """Where the time of each device went; parts that nothing has are left out."""
    parts = [part for part in _PARTS if any(row[f"{part}_percent"] for row in rows)]
    left_out, rows = len(rows) - _MOST_DEVICES, rows[:_MOST_DEVICES]
    titles = ("device", "worker", *(_PARTS[part] for part in parts))
    cells = [
        (
            row["device"],
            str(row["worker"]),
            *(format_percent(row[f"{part}_percent"], 1) for part in parts),
        )
        for row in rows
    ]
    lines = [Text(), *table([titles, *cells], left=1)]
    more = Text(f"and {left_out} more: --worker RANK, or --json", QUIET)
    return [*lines, more] if left_out > 0 else lines


def _operator_lines(document: Mapping[str, Any]) -> list[Text]:
    rows = document["operators"]
    times = [name for name in _TITLES if rows and f"{name}_seconds" in rows[0]]
    what = document["group"]
    titles = (f"{what} on {document['device']}", "calls", *(_TITLES[one] for one in times), "share")
    cells = [
        (
            _shortened(row["name"]) or f"no {what}",
            str(row["calls"]),
            *(format_duration(row[f"{one}_seconds"]) for one in times),
            format_percent(row["percent"], 1),
        )
        for row in rows
    ]
    left_out = document["operators_left_out"]
    if left_out["count"]:
        name = f"{pluralize(left_out['count'], 'more', 'more')}"
        cells.append((name, *[""] * (len(times) + 1), format_percent(left_out["percent"], 1)))
    uncovered = document["not_covered_percent"]
    cells.append(("not covered", *[""] * (len(times) + 1), format_percent(uncovered, 1)))
    shares = [*(row["percent"] for row in rows)]
    shares += [left_out["percent"]] if left_out["count"] else []
    return [Text(), *_with_bars(table([titles, *cells], left=1), [*shares, uncovered], document)]


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
    lines = table([(f"phase on {document['device']}", "time", "share"), *cells], left=1)
    return [Text(), *_with_bars(lines, [*(row["percent"] for row in rows), uncovered], document)]


def _with_bars(
    lines: Sequence[Text], shares: Sequence[float], document: Mapping[str, Any]
) -> list[Text]:
    """The first line is the titles; the last cell of all others a share."""
    style = CPU if document["device"] == "cpu" else GPU
    width = max(line.cell_len for line in lines)
    found = [lines[0]]
    for line, share in zip(lines[1:], shares, strict=True):
        line.pad_right(width - line.cell_len + 2)
        found.append(line.append(bar(share, _BAR, style)))
    return found


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
    titles = ("idle", "because", "times", "together", "longest", "share")
    return [Text(), *table([titles, *cells], left=2), *_late_lines(gaps["places"])]


def _late_lines(rows: Sequence[Row]) -> list[Text]:
    """Whom the devices waited for; what waited for them is told apart."""
    late = [row for row in rows if row["cause"] == "host"][:_MOST_PLACES]
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
    titles = ("launched too late by", "in", "times", "device idle before", "share")
    return [Text(), *table([titles, *cells], left=2)]


def _place_lines(rows: Sequence[Row]) -> list[Text]:
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
        for row in rows[:_MOST_PLACES]
    ]
    titles = ("waits for the device", "in", "times", "host waits", "device idle after")
    lines = [Text(), *table([titles, *cells], left=2)]
    more = len(rows) - _MOST_PLACES
    return [*lines, Text(f"and {pluralize(more, 'place')} more", QUIET)] if more > 0 else lines


def _launch_lines(rows: Sequence[Row]) -> list[Text]:
    lines = [
        Text(
            f"{row['device']}  {row['kernels']} kernels, {format_duration(row['kernel_mean_seconds'])} "
            f"on average, {format_percent(row['short_percent'])} shorter than 10 µs; a launch takes the "
            f"host {format_duration(row['call_mean_seconds'])}, and half of the kernels begin within "
            f"{format_duration(row['delay_p50_seconds'])} of it"
        )
        for row in rows
    ]
    return [Text(), *lines] if lines else []


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
