"""Pressure stall information: time lost waiting for CPU, memory or I/O."""

import re
from collections.abc import Sequence

from sonde.agent.system._collector import Collector
from sonde.agent.system._counters import KernelFile, Rates
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

_PATTERN = re.compile(rb"(some|full) avg10=([\d.]+) .*total=(\d+)")
_STALLED = {"some": "at least one task", "full": "all tasks"}
_LABELS = {"cpu": "CPU", "memory": "memory", "io": "I/O"}
_MICROSECONDS_TO_PERCENT = 1e-4


def _metrics(resource: str, kind: str) -> tuple[MetricInfo, MetricInfo]:
    text = f"share of time in which {_STALLED[kind]} waited for {_LABELS[resource]}"
    name = f"pressure.{resource}_{kind}"
    return (
        MetricInfo(f"{name}_percent", "percent", text),
        MetricInfo(f"{name}_avg10_percent", "percent", f"{text}, 10-second average"),
    )


METRICS = (
    *_metrics("cpu", "some"),
    *_metrics("memory", "some"),
    *_metrics("memory", "full"),
    *_metrics("io", "some"),
    *_metrics("io", "full"),
)


class Pressure(Collector):
    """Pressure stall information (PSI): time lost waiting for CPU, memory or I/O.

    Requires /proc/pressure (Linux 4.20 or later, unless disabled by psi=0). Records the share since
    the last reading and the kernel's 10-second average. There is no "full" metric for CPU.
    """

    metrics = METRICS
    interval_seconds = 0.5  # shares of shorter intervals are noisy

    def open(self) -> None:
        self._files: list[KernelFile] = []
        series: list[Series] = []
        for resource in ("cpu", "memory", "io"):
            try:
                file = KernelFile(self.machine.proc / "pressure" / resource)
                kinds = [kind.decode() for kind, _, _ in _stalls(file)]
            except OSError:
                continue
            self._files.append(file)
            series += [Series(metric) for metric in METRICS if _is_of(metric, resource, kinds)]
        if not series:
            raise NothingToCollectError(f"{self.machine.proc / 'pressure'} does not exist")
        self.series = tuple(series)
        self._rates = Rates()

    def read(self, seconds: float) -> Sequence[float]:
        stalls = [stall for file in self._files for stall in _stalls(file)]
        totals = [float(total) * _MICROSECONDS_TO_PERCENT for _, _, total in stalls]
        shares = self._rates.per_second(seconds, totals)
        values: list[float] = []
        for share, (_, mean, _) in zip(shares, stalls, strict=True):
            values += (share, float(mean))
        return values

    def close(self) -> None:
        for file in self._files:
            file.close()


def _stalls(file: KernelFile) -> list[tuple[bytes, bytes, bytes]]:
    matches = _PATTERN.findall(file.read())
    return matches[:1] if file.path.name == "cpu" else matches


def _is_of(metric: MetricInfo, resource: str, kinds: list[str]) -> bool:
    return any(metric.name.startswith(f"pressure.{resource}_{kind}_") for kind in kinds)
