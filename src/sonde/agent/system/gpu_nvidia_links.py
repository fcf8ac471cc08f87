"""NVIDIA GPUs: metrics that take milliseconds to read."""

from collections.abc import Iterator, Sequence
from typing import Any

from sonde.agent.system import _gpus as gpus
from sonde.agent.system._collector import Collector
from sonde.agent.system._counters import Rates
from sonde.agent.system._nvml import Nvml, Offer
from sonde.errors import NothingToCollectError

_KIB = 1024
_ALL_LINKS = 0xFFFFFFFF


class GpuNvidiaLinks(Collector):
    """NVIDIA GPUs: PCIe and NVLink traffic, PCIe replays.

    Requires an NVIDIA driver. PCIe traffic is measured by the driver over 20 ms.
    """

    metrics = (*gpus.PCIE, gpus.PCIE_REPLAYS, *gpus.NVLINK)

    interval_seconds = 5.0
    is_slow = True  # reading PCIe traffic blocks for 20 ms

    def open(self) -> None:
        self._nvml = Nvml(self.machine)
        self._readings = self._nvml.readings(self._offers)
        self._counters = self._nvml.readings(self._counter_offers)
        self._rates = Rates()
        self.series = tuple(
            series for reading in (*self._readings, *self._counters) for series in reading.series
        )
        if not self.series:
            self._nvml.close()
            raise NothingToCollectError("the GPUs report neither PCIe nor NVLink traffic")

    def read(self, seconds: float) -> Sequence[float]:
        values = [value for reading in self._readings for value in reading.values()]
        counts = [value for reading in self._counters for value in reading.values()]
        return values + self._rates.per_second(seconds, counts)

    def close(self) -> None:
        self._nvml.close()

    def _offers(self, gpu: Any) -> Iterator[Offer]:
        nvml = self._nvml.library

        def pcie() -> Sequence[float]:
            kinds = (nvml.NVML_PCIE_UTIL_TX_BYTES, nvml.NVML_PCIE_UTIL_RX_BYTES)
            return [nvml.nvmlDeviceGetPcieThroughput(gpu, kind) * _KIB for kind in kinds]

        yield gpus.PCIE, pcie

    def _counter_offers(self, gpu: Any) -> Iterator[Offer]:
        nvml = self._nvml.library

        def nvlink() -> Sequence[float]:
            fields = (
                nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
                nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
            )
            values = nvml.nvmlDeviceGetFieldValues(gpu, [(field, _ALL_LINKS) for field in fields])
            for field in values:
                if field.nvmlReturn != nvml.NVML_SUCCESS:
                    raise nvml.NVMLError(field.nvmlReturn)
            return [field.value.ullVal * _KIB for field in values]

        yield (gpus.PCIE_REPLAYS,), lambda: (nvml.nvmlDeviceGetPcieReplayCounter(gpu),)
        yield gpus.NVLINK, nvlink
