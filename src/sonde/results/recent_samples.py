"""Recent samples of a node: current values, and a history of five minutes."""

from typing import Final

import numpy as np

from sonde.analyze.natural_sort import natural_sort_key
from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Instants

COLUMN_SECONDS: Final = 5
COLUMNS: Final = 60  # five minutes

_NOW_SECONDS = 2.0  # a single sample is too noisy
_LAST_SECONDS = 25.0  # limits and free space are sampled every 10 seconds

_METRICS = frozenset(
    (
        *("cpu.utilization_percent", "cpu.iowait_percent", "cgroup.cpus_available"),
        *("memory.used_bytes", "memory.total_bytes", "memory.used_percent"),
        *("cgroup.memory_limit_bytes", "cgroup.memory_used_bytes"),
        *("cgroup.memory_reclaimable_bytes", "disk.busy_percent"),
        *("disk.read_bytes_per_second", "disk.write_bytes_per_second"),
        *("network.receive_bytes_per_second", "network.transmit_bytes_per_second"),
        *("process_tree.processes", "process_tree.threads"),
        *("process_tree.cpu_percent", "process_tree.rss_bytes"),
        *("disk.free_bytes", "disk.free_percent"),
        *("gpu.utilization_percent", "gpu.memory_used_bytes", "gpu.memory_total_bytes"),
        *("gpu.power_watts", "gpu.power_limit_watts", "gpu.temperature_celsius"),
        *("gpu.throttled_thermal", "gpu.throttled_power", "gpu.throttled_hardware"),
    )
)


class Recent:
    """Samples of a node in the seconds before its last sample."""

    def __init__(self, reader: SystemReader, interval_seconds: float, columns: int) -> None:
        self._series = [each for each in reader.series() if each.metric.name in _METRICS]
        self._rows = {each.key: row for row, each in enumerate(self._series)}
        self._columns = columns
        self._end_ns = reader.extent.last_ns if reader.extent else 0
        self._now_seconds = max(_NOW_SECONDS, 1.5 * interval_seconds)
        self._last_seconds = max(_LAST_SECONDS, 3 * interval_seconds)
        seconds = max(self._last_seconds, (columns + 1) * COLUMN_SECONDS)
        within = TimeRange(self._end_ns - int(seconds * NANOSECONDS))
        self._times: Instants
        self._values: Floats
        self._times, self._values = reader.samples(self._series, within)

    def devices(self, metric: str) -> list[str]:
        """The devices that have a metric, in natural order."""
        devices = {
            each.device for each in self._series if each.metric.name == metric and each.device
        }
        return sorted(devices, key=natural_sort_key)

    def now(self, key: str) -> float | None:
        """The mean of the last samples."""
        values = self._recent_values(key, self._now_seconds)
        return float(values.mean(dtype=np.float64)) if len(values) else None

    def last(self, key: str) -> float | None:
        """The last value of a metric that is sampled rarely."""
        values = self._recent_values(key, self._last_seconds)
        return float(values[-1]) if len(values) else None

    def history(self, key: str) -> tuple[float | None, ...]:
        """The mean of each column of the history, the latest last."""
        unknown: list[float | None] = [None] * self._columns
        if key not in self._rows or not self._columns:
            return tuple(unknown)
        # columns begin at multiples of their width, so that past columns do not change
        width_ns = COLUMN_SECONDS * NANOSECONDS
        columns = self._times // width_ns - self._end_ns // width_ns + self._columns - 1
        values = self._values[self._rows[key]]
        for index in range(self._columns):
            column_values = values[columns == index]
            finite = column_values[~np.isnan(column_values)]
            if len(finite):
                unknown[index] = float(finite.mean(dtype=np.float64))
        return tuple(unknown)

    def _recent_values(self, key: str, seconds: float) -> Floats:
        if key not in self._rows:
            return np.empty(0, dtype=np.float32)
        first = np.searchsorted(self._times, self._end_ns - int(seconds * NANOSECONDS), "right")
        values = self._values[self._rows[key], first:]
        return values[~np.isnan(values)]
