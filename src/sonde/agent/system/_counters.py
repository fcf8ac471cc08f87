"""Kernel files that stay open, and rates of counters."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sonde.agent.system._collector import UNKNOWN
from sonde.records.metric import MetricInfo, Series

_READ_BYTES = 1 << 16


class KernelFile:
    """A file of /proc or /sys that is opened once and reread from its start at every tick."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """The current content."""
        content = os.pread(self._descriptor, _READ_BYTES, 0)
        if len(content) < _READ_BYTES:
            return content
        chunks = [content]
        while more := os.pread(self._descriptor, _READ_BYTES, sum(map(len, chunks))):
            chunks.append(more)
        return b"".join(chunks)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class Rates:
    """Monotonic counters as change per second."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._counts: Sequence[float] = ()

    def per_second(self, seconds: float, counts: Sequence[float]) -> list[float]:
        """Change since the last call; UNKNOWN at first, and for counters that decreased."""
        elapsed, before = seconds - self._seconds, self._counts
        self._seconds, self._counts = seconds, counts
        if len(before) != len(counts) or elapsed <= 0:
            return [UNKNOWN] * len(counts)
        return [
            (now - then) / elapsed if now >= then else UNKNOWN
            for now, then in zip(counts, before, strict=True)
        ]


class DeviceRates:
    """Monotonic counters of a changing set of devices, as change per second.

    All devices have the same metrics. `series` contains the devices of the last call.
    """

    def __init__(self, metrics: Sequence[MetricInfo], devices: Sequence[str]) -> None:
        self._metrics = metrics
        self._devices: list[str] = []
        self._seconds = 0.0
        self._counts: Mapping[str, Sequence[float]] = {}
        self.series: tuple[Series, ...] = ()
        self._describe(list(devices))

    def per_second(self, seconds: float, counts: Mapping[str, Sequence[float]]) -> list[float]:
        """Change since the last call per device; UNKNOWN for a new device.

        Passing the same mapping object as before means that nothing has changed.
        """
        elapsed, before = seconds - self._seconds, self._counts
        self._seconds, self._counts = seconds, counts
        if counts is before and elapsed > 0:
            return [0.0] * len(self.series)
        if self._devices != list(counts):
            self._describe(list(counts))
        values: list[float] = []
        for device, now in counts.items():
            then = before.get(device)
            if then is None or elapsed <= 0:
                values += [UNKNOWN] * len(now)
            else:
                values += [
                    (new - old) / elapsed if new >= old else UNKNOWN
                    for new, old in zip(now, then, strict=True)
                ]
        return values

    def _describe(self, devices: list[str]) -> None:
        self._devices = devices
        self.series = tuple(
            Series(metric, device) for device in devices for metric in self._metrics
        )
