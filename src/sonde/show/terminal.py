"""What commands print: plain lines that read well in a terminal and in a pipe."""

from collections.abc import Mapping, Sequence
from typing import Any


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """One job for a person: how it stands and why first, then the details."""
    rows = [("job", status["job"]), ("state", _state(status))]
    rows += [("started", status["start_time"]), ("ended", status["end_time"])]
    rows += [("duration", duration(status["duration_seconds"]))]
    run = status["runs"][-1] if status["runs"] else None
    if run is not None:
        rows += [("command", " ".join(run["command"])), ("folder", run["folder"])]
        git = run["git"]
        if git:
            clean = {"yes": "clean", "no": "with changes"}.get(git.get("is_clean", ""), "")
            rows.append(("git", f"{git['commit'][:12]} {git['branch']} {clean}".rstrip()))
    rows.append(("nodes", ", ".join(status["nodes"])))
    if status["attempts"] > 1:
        rows.append(("attempts", str(status["attempts"])))
    cost = status["overhead"]
    if cost:
        written = size(cost["bytes_written"])
        rows.append(("watching", f"{cost['percent']:.2f} % of a core, {written} written"))
    rows += [("lost", _lost(gap)) for gap in status["lost"]]
    rows += [("not collected", f"{o['what']}: {o['reason']}") for o in status["not_collected"]]
    rows += [("note", f"{n['time']} {n['what']}: {n['text']}") for n in status["notices"]]
    if status["exit"] and status["exit"]["left_running"]:
        rows.append(("still running", ", ".join(status["exit"]["left_running"])))
    return [f"{label:<14}{text}" for label, text in rows if text]


def jobs_lines(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of jobs."""
    titles = ("JOB", "STATE", "STARTED", "DURATION", "NODES", "EXIT")
    rows = [
        (
            job["job"],
            job["state"],
            (job["start_time"] or "")[:19].replace("T", " "),
            duration(job["duration_seconds"]),
            str(len(job["nodes"])),
            (job["exit"] or {}).get("message") or "",
        )
        for job in jobs
    ]
    return table([titles, *rows])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as they need to be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def duration(seconds: float | None) -> str:
    """A stretch of time, in the units people use."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {whole % 60:02d} s"


def size(count: float) -> str:
    """Bytes with a prefix."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _state(status: Mapping[str, Any]) -> str:
    reason = (status["exit"] or {}).get("message")
    return f"{status['state']} ({reason})" if reason else str(status["state"])


def _lost(gap: Mapping[str, Any]) -> str:
    when = f", {gap['from']} to {gap['to']}" if gap["from"] else ""
    return f"{gap['what']}{when}: {gap['reason']}"
