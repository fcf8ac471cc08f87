"""The overhead of recording a job, in one line."""

from collections.abc import Mapping
from typing import Any

from sonde.formats import format_percent


def overhead_text(overhead: Mapping[str, Any]) -> str:
    """The overhead in a status document: of step time if steps were recorded, else of one core.

    Short jobs have no percentage.
    """
    seconds = overhead["cpu_seconds"]
    cpu = f"{seconds:,.1f} CPU-seconds" if seconds >= 1 else f"{seconds:.2f} CPU-seconds"
    if overhead["hook_percent"] is not None:
        return f"{format_percent(overhead['hook_percent'])} of step time, {cpu}"
    if overhead["launcher_percent"] is not None:
        return f"{format_percent(overhead['launcher_percent'])} of one core, {cpu}"
    return cpu
