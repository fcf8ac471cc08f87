"""Free space of the file systems used by the job."""

import os
from collections.abc import Sequence
from pathlib import Path

from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

METRICS = (
    MetricInfo("disk.free_bytes", "bytes", "free space"),
    MetricInfo("disk.free_percent", "percent", "free space, as a share of the total"),
)


class DiskSpace(Collector):
    """Free space of the file systems used by the job, by mount point.

    Requires paths to check.
    """

    metrics = METRICS

    interval_seconds = 5.0
    is_slow = True  # blocks if the server of a network file system is unreachable

    def open(self) -> None:
        mounts: dict[int, Path] = {}
        for path in self.machine.paths:
            existing = _existing(path)
            mounts.setdefault(existing.stat().st_dev, _mount_point(existing))
        if not mounts:
            raise NothingToCollectError("no paths to check")
        self._mounts = tuple(mounts.values())
        self.series = tuple(
            Series(metric, str(mount)) for mount in self._mounts for metric in METRICS
        )

    def read(self, seconds: float) -> Sequence[float]:
        return [value for mount in self._mounts for value in _free(mount)]


def _free(mount: Path) -> tuple[float, float]:
    try:
        usage = os.statvfs(mount)
    except OSError:
        return UNKNOWN, UNKNOWN
    usable = usage.f_blocks - usage.f_bfree + usage.f_bavail
    percent = 100 * usage.f_bavail / usable if usable else UNKNOWN
    return usage.f_bavail * usage.f_frsize, percent


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path.resolve()


def _mount_point(path: Path) -> Path:
    device = path.stat().st_dev
    while path != path.parent and path.parent.stat().st_dev == device:
        path = path.parent
    return path
