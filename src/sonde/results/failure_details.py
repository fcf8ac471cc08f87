"""How a job died: the failing line of the user's code, the traceback, and the last output."""

from collections.abc import Mapping
from typing import Any

_MAX_LINES = 12  # of each stream
_ENDED_BADLY = ("failed", "stopped", "lost")


def failing_line_text(exit_: Mapping[str, Any] | None) -> str:
    """Where the user's code failed: `train.py:12, in train`; empty if unknown."""
    line = (exit_ or {}).get("failed_at")
    if not line:
        return ""
    function = "" if line["function"] in ("", "<module>") else f", in {line['function']}"
    return f"{line['file']}:{line['line']}{function}"


def marked_traceback(exit_: Mapping[str, Any] | None) -> list[tuple[str, bool]]:
    """The lines of the traceback, and whether they are those of the failing line."""
    lines = ((exit_ or {}).get("traceback") or "").splitlines()
    failed_at = (exit_ or {}).get("failed_at")
    rows = {failed_at["row"], failed_at["row"] + bool(failed_at["code"])} if failed_at else set()
    return [(line, row in rows) for row, line in enumerate(lines)]


def last_output(status: Mapping[str, Any]) -> dict[str, list[str]]:
    """The last lines by stream of a job that ended badly.

    Without stderr if there is a traceback: it ends with the same lines.
    """
    if status["state"] not in _ENDED_BADLY:
        return {}
    tail = status["output_tail"]
    has_traceback = bool((status["exit"] or {}).get("traceback"))
    streams = {"stdout": tail["stdout"]} if has_traceback else tail
    return {stream: lines[-_MAX_LINES:] for stream, lines in streams.items() if lines}
