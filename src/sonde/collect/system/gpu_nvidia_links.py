"""NVIDIA GPUs: what takes milliseconds to ask for."""

from collections.abc import Iterator, Sequence
from typing import Any

from sonde.collect.process_tree import ProcessTree
from sonde.collect.system import _gpus as gpus
from sonde.collect.system._collector import UNKNOWN, Collector
from sonde.collect.system._counters import Rates
from sonde.collect.system._nvml import Nvml, Offer
from sonde.errors import NothingToCollectError

_KIB = 1024
_ALL_LINKS = 0xFFFFFFFF


class GpuNvidiaLinks(Collector):
    """NVIDIA GPUs: PCIe and NVLink traffic, PCIe replays, memory of the job's processes.

    Needs an NVIDIA driver. PCIe traffic is the driver's own 20 ms sample; the job's memory is
    unknown in a container that hides the host's process numbers.
    """

    metrics = (*gpus.PCIE, gpus.PCIE_REPLAYS, *gpus.NVLINK, gpus.JOB_MEMORY)

    interval_seconds = 5.0
    is_slow = True  # PCIe traffic blocks for 20 ms and listing processes for up to 5

    def open(self) -> None:
        self._nvml = Nvml(self.machine)
        self._tree = self._job()
        self._readings = self._nvml.readings(self._offers)
        self._counters = self._nvml.readings(self._counter_offers)
        self._rates = Rates()
        self.series = tuple(
            series for reading in (*self._readings, *self._counters) for series in reading.series
        )
        if not self.series:
            self._nvml.close()
            raise NothingToCollectError("the GPUs tell neither PCIe nor NVLink traffic")

    def read(self, seconds: float) -> Sequence[float]:
        if self._tree:
            self._tree.update(seconds)
        values = [value for reading in self._readings for value in reading.values()]
        counts = [value for reading in self._counters for value in reading.values()]
        return values + self._rates.per_second(seconds, counts)

    def close(self) -> None:
        self._nvml.close()
        if self._tree:
            self._tree.close()

    def _job(self) -> ProcessTree | None:
        machine = self.machine
        if machine.job_pid is None:
            return None
        try:
            return ProcessTree(machine.proc, machine.job_pid, machine.job_mark)
        except ProcessLookupError:
            return None

    def _offers(self, gpu: Any) -> Iterator[Offer]:
        nvml = self._nvml.library

        def pcie() -> Sequence[float]:
            kinds = (nvml.NVML_PCIE_UTIL_TX_BYTES, nvml.NVML_PCIE_UTIL_RX_BYTES)
            return [nvml.nvmlDeviceGetPcieThroughput(gpu, kind) * _KIB for kind in kinds]

        yield gpus.PCIE, pcie
        if tree := self._tree:
            yield (gpus.JOB_MEMORY,), lambda: (self._job_memory(gpu, tree),)

    def _counter_offers(self, gpu: Any) -> Iterator[Offer]:
        nvml = self._nvml.library

        def nvlink() -> Sequence[float]:
            fields = (
                nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
                nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
            )
            found = nvml.nvmlDeviceGetFieldValues(gpu, [(field, _ALL_LINKS) for field in fields])
            for field in found:
                if field.nvmlReturn != nvml.NVML_SUCCESS:
                    raise nvml.NVMLError(field.nvmlReturn)
            return [field.value.ullVal * _KIB for field in found]

        yield (gpus.PCIE_REPLAYS,), lambda: (nvml.nvmlDeviceGetPcieReplayCounter(gpu),)
        yield gpus.NVLINK, nvlink

    def _job_memory(self, gpu: Any, tree: ProcessTree) -> float:
        processes = self._nvml.library.nvmlDeviceGetComputeRunningProcesses(gpu)
        sizes = [one.usedGpuMemory for one in processes if one.pid in tree.members]
        if None in sizes:
            return UNKNOWN
        is_ours = bool(sizes) or any(
            (self.machine.proc / str(one.pid)).exists() for one in processes
        )
        return sum(sizes) if is_ours or not processes else UNKNOWN
