"""Clock frequency of the cores."""

import re
from collections.abc import Sequence
from pathlib import Path

from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

METRICS = (
    MetricInfo("cpu.frequency_mhz", "mhz", "average clock frequency of the cores"),
    MetricInfo("cpu.frequency_min_mhz", "mhz", "clock frequency of the slowest core"),
    MetricInfo("cpu.frequency_max_mhz", "mhz", "clock frequency of the fastest core"),
)


class CpuFrequency(Collector):
    """Clock frequency of the cores: average, minimum and maximum.

    Requires cpufreq in /sys, or a /proc/cpuinfo that includes MHz.
    """

    metrics = METRICS

    interval_seconds = 10.0

    def open(self) -> None:
        cpus = self.machine.sys / "devices/system/cpu"
        self._files = sorted(cpus.glob("cpufreq/policy*/scaling_cur_freq"))
        if not self._frequencies():
            raise NothingToCollectError("no clock frequency in cpufreq or /proc/cpuinfo")
        self.series = tuple(map(Series, METRICS))

    def read(self, seconds: float) -> Sequence[float]:
        frequencies = self._frequencies()
        if not frequencies:
            return (UNKNOWN, UNKNOWN, UNKNOWN)
        return (sum(frequencies) / len(frequencies), min(frequencies), max(frequencies))

    def _frequencies(self) -> list[float]:
        if self._files:
            return [mhz for file in self._files if (mhz := _mhz(file))]
        try:
            cpuinfo = (self.machine.proc / "cpuinfo").read_bytes()
        except OSError:
            return []
        return [float(mhz) for mhz in re.findall(rb"cpu MHz\s*:\s*([\d.]+)", cpuinfo)]


def _mhz(file: Path) -> float:
    try:
        return int(file.read_bytes()) / 1000
    except (OSError, ValueError):  # a core that is offline, or "<unknown>"
        return 0.0
