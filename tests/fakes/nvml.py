"""NVML without a GPU: the functions of pynvml that the collectors call."""

# The names are pynvml's:
# ruff: noqa: N802

from dataclasses import dataclass, field
from types import SimpleNamespace


class NVMLError(Exception):
    """The error of the library."""

    def __init__(self, value: object = 3) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class FakeGpu:
    """A GPU whose values can be changed between readings."""

    utilization: int = 80
    memory_controller: int = 40
    memory_used: int = 20 << 30
    memory_total: int = 80 << 30
    power_milliwatts: int = 350_000
    power_limit_milliwatts: int = 700_000
    temperature: int = 61
    clocks: dict[int, int] = field(default_factory=lambda: {1: 1980, 2: 2619})
    throttle_reasons: int = 0
    ecc_errors: dict[int, int] = field(default_factory=lambda: {0: 3, 1: 0})
    pcie_kib: dict[int, int] = field(default_factory=lambda: {0: 100, 1: 200})
    pcie_replays: int = 0
    nvlink_kib: dict[int, int] = field(default_factory=lambda: {138: 0, 139: 0})
    processes: list[SimpleNamespace] = field(default_factory=list)
    process_utilization: dict[int, int] = field(default_factory=dict)  # percent by PID


class FakeNvml:
    """Replaces the pynvml module; `unsupported` names functions that fail."""

    NVMLError = NVMLError
    NVML_SUCCESS = 0
    NVML_ERROR_NOT_FOUND = 6
    NVML_TEMPERATURE_GPU = 0
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_MEMORY_ERROR_TYPE_CORRECTED = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0
    NVML_PCIE_UTIL_TX_BYTES = 0
    NVML_PCIE_UTIL_RX_BYTES = 1
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX = 138
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX = 139

    def __init__(self, *gpus: FakeGpu) -> None:
        self.gpus = gpus
        self.unsupported: set[str] = set()
        self.calls: list[str] = []
        self.opened = 0

    def nvmlInit(self) -> None:
        self._called("nvmlInit")
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        return self.gpus[index]

    def nvmlDeviceGetUtilizationRates(self, gpu: FakeGpu) -> SimpleNamespace:
        self._called("nvmlDeviceGetUtilizationRates")
        return SimpleNamespace(gpu=gpu.utilization, memory=gpu.memory_controller)

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> SimpleNamespace:
        self._called("nvmlDeviceGetMemoryInfo")
        return SimpleNamespace(used=gpu.memory_used, total=gpu.memory_total)

    def nvmlDeviceGetProcessUtilization(self, gpu: FakeGpu, _since: int) -> list[SimpleNamespace]:
        self._called("nvmlDeviceGetProcessUtilization")
        if not gpu.process_utilization:
            raise NVMLError(self.NVML_ERROR_NOT_FOUND)
        return [
            SimpleNamespace(pid=pid, timeStamp=1, smUtil=percent)
            for pid, percent in gpu.process_utilization.items()
        ]

    def nvmlDeviceGetPowerUsage(self, gpu: FakeGpu) -> int:
        self._called("nvmlDeviceGetPowerUsage")
        return gpu.power_milliwatts

    def nvmlDeviceGetEnforcedPowerLimit(self, gpu: FakeGpu) -> int:
        self._called("nvmlDeviceGetEnforcedPowerLimit")
        return gpu.power_limit_milliwatts

    def nvmlDeviceGetTemperature(self, gpu: FakeGpu, _sensor: int) -> int:
        self._called("nvmlDeviceGetTemperature")
        return gpu.temperature

    def nvmlDeviceGetClockInfo(self, gpu: FakeGpu, kind: int) -> int:
        self._called("nvmlDeviceGetClockInfo")
        return gpu.clocks[kind]

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu: FakeGpu) -> int:
        self._called("nvmlDeviceGetCurrentClocksThrottleReasons")
        return gpu.throttle_reasons

    def nvmlDeviceGetTotalEccErrors(self, gpu: FakeGpu, kind: int, _counter: int) -> int:
        self._called("nvmlDeviceGetTotalEccErrors")
        return gpu.ecc_errors[kind]

    def nvmlDeviceGetPcieThroughput(self, gpu: FakeGpu, kind: int) -> int:
        self._called("nvmlDeviceGetPcieThroughput")
        return gpu.pcie_kib[kind]

    def nvmlDeviceGetPcieReplayCounter(self, gpu: FakeGpu) -> int:
        self._called("nvmlDeviceGetPcieReplayCounter")
        return gpu.pcie_replays

    def nvmlDeviceGetFieldValues(
        self, gpu: FakeGpu, fields: list[tuple[int, int]]
    ) -> list[SimpleNamespace]:
        refused = "nvmlDeviceGetFieldValues" in self.unsupported
        return [
            SimpleNamespace(
                nvmlReturn=3 if refused else 0,
                value=SimpleNamespace(ullVal=gpu.nvlink_kib[number]),
            )
            for number, _ in fields
        ]

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: FakeGpu) -> list[SimpleNamespace]:
        self._called("nvmlDeviceGetComputeRunningProcesses")
        return gpu.processes

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.unsupported:
            raise NVMLError("Not Supported")


def gpu_process(pid: int, used_bytes: int | None) -> SimpleNamespace:
    """Return a process as the library lists it."""
    return SimpleNamespace(pid=pid, usedGpuMemory=used_bytes)
