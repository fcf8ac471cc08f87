"""What became of a job, in one sentence: the same wherever it is said."""

from collections.abc import Mapping
from typing import Any

from sonde.formats import format_duration

_LOST = "its launcher vanished without a word; the command may still run"


def verdict(status: Mapping[str, Any]) -> str:
    """One sentence: what became of the job, and why."""
    seconds = status["duration_seconds"]
    if status["state"] == "running":
        return f"{status['job']} has been running for {format_duration(seconds)}."
    why = reason(status)
    said = ending(status["job"], status["state"], seconds, why)
    return said if why else f"{said}."


def ending(job: str, state: str, seconds: float | None, why: str) -> str:
    """The sentence for a job that is over, without its full stop."""
    said = f"{job} {'was ' if state in ('stopped', 'lost') else ''}{state}"
    said += f" after {format_duration(seconds)}" if seconds is not None else ""
    return f"{said}: {why}" if why else said


def reason(status: Mapping[str, Any]) -> str:
    """Why it ended; nothing where it went well, still runs, or nobody knows."""
    if status["state"] == "completed":
        return ""
    exit_ = status["exit"] or {}
    message = exit_.get("message")
    if message is None and status["state"] == "lost":
        return _LOST
    return first_line(message, exit_.get("traceback"))


def first_line(message: str | None, traceback: str | None) -> str:
    """A message, cut where the rest of it is in the traceback."""
    return (message or "").partition("\n")[0] if traceback else message or ""
