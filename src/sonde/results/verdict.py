"""The outcome of a job in one sentence, for all front ends."""

from collections.abc import Mapping
from typing import Any

from sonde.formats import format_duration

_LOST = "the launcher disappeared; the command may still be running"


def verdict(status: Mapping[str, Any]) -> str:
    """The state of the job, its duration, and why it ended."""
    job, state, seconds = status["job"], status["state"], status["duration_seconds"]
    return outcome_sentence(job, state, seconds, reason(status))


def outcome_sentence(job: str, state: str, seconds: float | None, why: str) -> str:
    """The state of a job, its duration, and why it ended, from their values."""
    if state == "running":
        return f"{job} has been running for {format_duration(seconds)}."
    sentence = ending(job, state, seconds, why)
    return sentence if why else f"{sentence}."


def ending(job: str, state: str, seconds: float | None, why: str) -> str:
    """The sentence for a finished job, without a period."""
    sentence = f"{job} {'was ' if state in ('stopped', 'lost') else ''}{state}"
    sentence += f" after {format_duration(seconds)}" if seconds is not None else ""
    return f"{sentence}: {why}" if why else sentence


def reason(status: Mapping[str, Any]) -> str:
    """Why the job failed; empty if it completed, is running, or the reason is unknown."""
    if status["state"] == "completed":
        return ""
    exit_ = status["exit"] or {}
    message = exit_.get("message")
    if message is None and status["state"] == "lost":
        return _LOST
    return first_line(message, exit_.get("traceback"))


def first_line(message: str | None, traceback: str | None) -> str:
    """A message; only its first line if a traceback has the rest."""
    return (message or "").partition("\n")[0] if traceback else message or ""
