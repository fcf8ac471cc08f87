"""The overhead of recording a job, in one line."""

from collections.abc import Mapping
from typing import Any

from sonde.formats import format_percent


def overhead_text(overhead: Mapping[str, Any]) -> str:
    """The overhead in a status document: of step time if steps were recorded, else of one core."""
    return overhead_parts(
        overhead["cpu_seconds"], overhead["launcher_percent"], overhead["hook_percent"]
    )


def overhead_parts(
    cpu_seconds: float, core_percent: float | None, step_percent: float | None = None
) -> str:
    """Format the parts of the overhead; a short job has no percentage of a core."""
    cpu = f"{cpu_seconds:.2g} CPU-seconds" if cpu_seconds < 1 else f"{cpu_seconds:.1f} CPU-seconds"
    if step_percent is not None:
        return f"{format_percent(step_percent)} of step time, {cpu}"
    if core_percent is not None:
        return f"{format_percent(core_percent)} of one core, {cpu}"
    return cpu
