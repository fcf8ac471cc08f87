"""Memory and swap of the node."""

from collections.abc import Sequence

from sonde.agent.system._collector import Collector
from sonde.agent.system._counters import KernelFile
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

_KIB = 1024

METRICS = (
    MetricInfo("memory.used_percent", "percent", "used memory, as a share of the total"),
    MetricInfo("memory.used_bytes", "bytes", "used memory, without reclaimable caches"),
    MetricInfo("memory.total_bytes", "bytes", "total memory of the node"),
    MetricInfo("memory.cached_bytes", "bytes", "page cache, which the kernel can reclaim"),
    MetricInfo("memory.dirty_bytes", "bytes", "data waiting to be written to disk"),
    MetricInfo("memory.shared_bytes", "bytes", "shared memory, which data loaders use for batches"),
    MetricInfo("swap.used_bytes", "bytes", "used swap space"),
    MetricInfo("swap.total_bytes", "bytes", "total swap space"),
)


class Memory(Collector):
    """Memory and swap of the node.

    Requires /proc/meminfo.
    """

    metrics = METRICS
    interval_seconds = 0.5  # changes slowly, and reading it takes a tenth of a tick

    def open(self) -> None:
        try:
            self._meminfo = KernelFile(self.machine.proc / "meminfo")
        except OSError as error:
            raise NothingToCollectError(f"{error.filename} does not exist") from error
        self.series = tuple(map(Series, METRICS))

    def read(self, seconds: float) -> Sequence[float]:
        kib = {}
        for line in self._meminfo.read().splitlines():
            name, _, rest = line.partition(b":")
            if name in _FIELDS:
                kib[name] = int(rest.split(None, 1)[0])
        total = kib[b"MemTotal"]
        used = total - kib.get(b"MemAvailable", kib[b"MemFree"])
        return (
            100 * used / total,
            used * _KIB,
            total * _KIB,
            kib[b"Cached"] * _KIB,
            kib[b"Dirty"] * _KIB,
            kib.get(b"Shmem", 0) * _KIB,
            (kib[b"SwapTotal"] - kib[b"SwapFree"]) * _KIB,
            kib[b"SwapTotal"] * _KIB,
        )

    def close(self) -> None:
        self._meminfo.close()


_FIELDS = frozenset(
    (
        b"MemTotal",
        b"MemAvailable",
        b"MemFree",
        b"Cached",
        b"Dirty",
        b"Shmem",
        b"SwapTotal",
        b"SwapFree",
    )
)
