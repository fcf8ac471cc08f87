"""Samples of machines and events of workers, in the terms of the old profiler."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sonde

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# metric of Sonde: type, dimension, and name if it does not belong to a device
_METRICS = {
    "cpu.utilization_percent": ("cpu", "CPUUtilization", "cpu"),
    "cpu.iowait_percent": ("i/o", "I/OWaitPercentage", "i/o"),
    "gpu.utilization_percent": ("gpu", "GPUUtilization", "gpu"),
    "gpu.memory_used_percent": ("gpu", "GPUMemoryUtilization", "gpu"),
    "memory.used_percent": ("memory", "", "MemoryUsedPercent"),
    "network.receive_bytes_per_second": ("network", "ReceiveBytesPerSecond", "network"),
    "network.transmit_bytes_per_second": ("network", "TransmitBytesPerSecond", "network"),
    "disk.read_bytes_per_second": ("i/o", "ReadThroughputInBytesPerSecond", "disk"),
    "disk.write_bytes_per_second": ("i/o", "WriteThroughputInBytesPerSecond", "disk"),
}
_TOTALS = {"cpu.utilization_percent"}  # the cores are listed, too
_EVENTS = {
    "forward": "Forward-node_0",
    "backward": "Backward(post-forward)-node_0",
    "data_wait": "DataIterator",
    "optimizer": "Optimizer",
}


@dataclass(frozen=True, slots=True)
class ProfilerSystemEvent:
    """A sample of a device of a node."""

    type: str
    name: str
    dimension: str
    value: float
    node_id: str
    timestamp: float  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """An event of a worker; times are in microseconds since the epoch."""

    start_time: int
    end_time: int
    event_name: str
    node_id: str
    pid: int
    tid: str
    event_phase: str = "X"
    event_args: dict[str, Any] = field(default_factory=dict)
    file_type: str = "sonde"

    @property
    def duration(self) -> int:
        """How long it took."""
        return self.end_time - self.start_time


def system_events(job: sonde.Job) -> Iterator[ProfilerSystemEvent]:
    """All samples, in order of their times per node."""
    metrics = job.system("*")
    table = metrics.to_arrow()
    columns = [(key, column) for key in table.column_names if (column := _column_of(key))]
    names = ("time", "node", *(key for key, _ in columns))
    values = [table[name].to_pylist() for name in names] if table.num_rows else []
    for row in zip(*values, strict=True):
        seconds = microseconds_of(row[0]) / 10**6
        for (_, (kind, name, dimension)), value in zip(columns, row[2:], strict=True):
            if value is not None and not math.isnan(value):
                yield ProfilerSystemEvent(kind, name, dimension, value, row[1], seconds)


def trace_events(job: sonde.Job) -> Iterator[TraceEvent]:
    """All events of workers, in the order each worker recorded them."""
    table = job.events("*").to_arrow()
    keys = ("name", "worker", "lane", "mode", "step", "time", "seconds")
    lives = job.lives.to_arrow()
    nodes = dict(zip(lives["rank"].to_pylist(), lives["node"].to_pylist(), strict=True))
    for name, worker, lane, mode, step, time, seconds in zip(
        *(table[key].to_pylist() for key in keys), strict=True
    ):
        start = microseconds_of(time)
        yield TraceEvent(
            start,
            start + round(seconds * 10**6),
            _event_name(name, mode),
            f"{worker}-{nodes.get(worker, '')}",
            worker,
            lane,
            event_args={"step_num": str(step), "mode": mode},
        )


def matches(patterns: Sequence[str], text: str) -> bool:
    """Whether any regular expression matches within a text; all texts match none."""
    return not patterns or any(re.search(pattern, text) for pattern in patterns)


def microseconds_of(time: datetime) -> int:
    """Microseconds since the epoch."""
    difference = time - _EPOCH
    return (difference.days * 86400 + difference.seconds) * 10**6 + difference.microseconds


def _column_of(key: str) -> tuple[str, str, str] | None:
    metric, _, device = key.partition("/")
    if metric not in _METRICS or (metric in _TOTALS and not device):
        return None
    kind, dimension, name = _METRICS[metric]
    return kind, device or name, dimension


def _event_name(name: str, mode: str) -> str:
    if name == "step":
        return f"Step:ModeKeys.{mode.upper()}"
    return _EVENTS.get(name, name)
