"""Recent samples of a node: current values, and a history of five minutes."""

from typing import Final

import numpy as np

from sonde.analyze.counting import counting_order
from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Instants

COLUMN_SECONDS: Final = 5
COLUMNS: Final = 60  # five minutes

_NOW_SECONDS = 2.0  # a single sample is too noisy
_LAST_SECONDS = 25.0  # limits and free space are sampled every 10 seconds

_WANTED = frozenset(
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
        self._wanted = [one for one in reader.series() if one.metric.name in _WANTED]
        self._rows = {one.key: row for row, one in enumerate(self._wanted)}
        self._columns = columns
        self._end_ns = reader.extent.last_ns if reader.extent else 0
        self._now_seconds = max(_NOW_SECONDS, 1.5 * interval_seconds)
        self._last_seconds = max(_LAST_SECONDS, 3 * interval_seconds)
        seconds = max(self._last_seconds, (columns + 1) * COLUMN_SECONDS)
        within = TimeRange(self._end_ns - int(seconds * NANOSECONDS))
        self._times: Instants
        self._values: Floats
        self._times, self._values = reader.samples(self._wanted, within)

    def devices(self, metric: str) -> list[str]:
        """The devices that have a metric, in natural order."""
        found = {one.device for one in self._wanted if one.metric.name == metric and one.device}
        return sorted(found, key=counting_order)

    def now(self, key: str) -> float | None:
        """The mean of the last samples."""
        known = self._known(key, self._now_seconds)
        return float(known.mean(dtype=np.float64)) if len(known) else None

    def last(self, key: str) -> float | None:
        """The last value of a metric that is sampled rarely."""
        known = self._known(key, self._last_seconds)
        return float(known[-1]) if len(known) else None

    def history(self, key: str) -> tuple[float | None, ...]:
        """The mean of each column of the history, the latest last."""
        unknown: list[float | None] = [None] * self._columns
        if key not in self._rows or not self._columns:
            return tuple(unknown)
        # columns begin at multiples of their width, so that past columns do not change
        width_ns = COLUMN_SECONDS * NANOSECONDS
        places = self._times // width_ns - self._end_ns // width_ns + self._columns - 1
        values = self._values[self._rows[key]]
        for place in range(self._columns):
            here = values[places == place]
            known = here[~np.isnan(here)]
            if len(known):
                unknown[place] = float(known.mean(dtype=np.float64))
        return tuple(unknown)

    def _known(self, key: str, seconds: float) -> Floats:
        if key not in self._rows:
            return np.empty(0, dtype=np.float32)
        first = np.searchsorted(self._times, self._end_ns - int(seconds * NANOSECONDS), "right")
        values = self._values[self._rows[key], first:]
        return values[~np.isnan(values)]
