"""Charts of Sonde behind the chart classes of the old notebooks."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import sonde
from smdebug.profiler.events import matches
from sonde.results.plots import Plot

UTILIZATION = ("cpu.utilization_percent", "gpu.utilization_percent", "gpu.memory_used_percent")
_DIMENSIONS = {
    "cpu.utilization_percent": ("CPUUtilization", "cpu"),
    "gpu.utilization_percent": ("GPUUtilization", "gpu"),
    "gpu.memory_used_percent": ("GPUMemoryUtilization", "gpu"),
    "cpu.iowait_percent": ("I/OWaitPercentage", "i/o"),
    "memory.used_percent": ("MemoryUsedPercent", "memory"),
    "network.receive_bytes_per_second": ("ReceiveBytesPerSecond", "network"),
}


class Reader(Protocol):
    """A reader of metrics or events."""

    job: sonde.Job


class Chart:
    """One or several plots; a notebook displays them when they are created."""

    def __init__(self, plots: Sequence[Plot]) -> None:
        self.plots = list(plots)
        self.show()

    def show(self) -> None:
        """Display the plots, if this is a notebook."""
        ipython = sys.modules.get("IPython")
        if ipython is not None and ipython.get_ipython() is not None:
            display: Any = sys.modules["IPython.display"].display
            for plot in self.plots:
                display(plot)

    def save(self, folder: str) -> list[Path]:
        """Write each plot as an HTML page."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = type(self).__name__
        return [
            plot.save(Path(folder, f"{name}-{index}.html")) for index, plot in enumerate(self.plots)
        ]


def selected_metrics(select_dimensions: Sequence[str], select_events: Sequence[str]) -> list[str]:
    """The metrics of Sonde whose old dimension and device match."""
    return [
        metric
        for metric, (dimension, kind) in _DIMENSIONS.items()
        if matches(select_dimensions, dimension)
        and (matches(select_events, kind) or matches(select_events, "total"))
    ]


def system_metrics(reader: Reader, metric: str, start: float | None, end: float | None) -> Any:
    """A metric between two times since the epoch, in microseconds; 0 is the job's start."""
    begin = (reader.job.facts.start_ns or 0) / 1e9
    first = start / 1e6 - begin if start else None
    last = end / 1e6 - begin if end else None
    return reader.job.system(metric, start=first, end=last)
