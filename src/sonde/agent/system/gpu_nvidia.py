"""NVIDIA GPUs: metrics that take microseconds to read."""

from collections.abc import Iterator, Sequence
from typing import Any

from sonde.agent.system import _gpus as gpus
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._nvml import Nvml, Offer

_MILLI = 1000
_SLOW_SECONDS = 10.0
# Bits of NVML's clocks event reasons: (software, hardware)
_THERMAL = 0x20 | 0x40
_POWER = 0x04 | 0x80
_HARDWARE = 0x08


class GpuNvidia(Collector):
    """NVIDIA GPUs: utilization, memory, power, temperature, clocks, throttling, memory errors.

    Requires an NVIDIA driver. Metrics that a GPU does not support have no series. The power limit
    and memory errors are read every 10 seconds.
    """

    metrics = (
        gpus.UTILIZATION,
        gpus.MEMORY_CONTROLLER,
        *gpus.MEMORY,
        gpus.POWER,
        gpus.POWER_LIMIT,
        gpus.TEMPERATURE,
        gpus.SM_CLOCK,
        gpus.MEMORY_CLOCK,
        *gpus.THROTTLED,
        *gpus.ECC_ERRORS,
    )

    def open(self) -> None:
        self._nvml = Nvml(self.machine)
        self._fast = self._nvml.readings(self._fast_offers)
        self._slow = self._nvml.readings(self._slow_offers)
        self._slow_seconds = float("-inf")
        self._slow_unknown = [UNKNOWN for reading in self._slow for _ in reading.series]
        self.series = tuple(
            series for reading in (*self._fast, *self._slow) for series in reading.series
        )

    def read(self, seconds: float) -> Sequence[float]:
        values = [value for reading in self._fast for value in reading.values()]
        if seconds - self._slow_seconds < _SLOW_SECONDS:
            return values + self._slow_unknown
        self._slow_seconds = seconds
        return values + [value for reading in self._slow for value in reading.values()]

    def close(self) -> None:
        self._nvml.close()

    def _fast_offers(self, gpu: Any) -> Iterator[Offer]:
        nvml = self._nvml.library

        def utilization() -> Sequence[float]:
            rates = nvml.nvmlDeviceGetUtilizationRates(gpu)
            return rates.gpu, rates.memory

        def memory() -> Sequence[float]:
            info = nvml.nvmlDeviceGetMemoryInfo(gpu)
            return gpus.memory(info.used, info.total)

        def throttled() -> Sequence[float]:
            reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
            return [float(bool(reasons & bits)) for bits in (_THERMAL, _POWER, _HARDWARE)]

        def clock(kind: int) -> Sequence[float]:
            return (nvml.nvmlDeviceGetClockInfo(gpu, kind),)

        yield (gpus.UTILIZATION, gpus.MEMORY_CONTROLLER), utilization
        yield gpus.MEMORY, memory
        yield (gpus.POWER,), lambda: (nvml.nvmlDeviceGetPowerUsage(gpu) / _MILLI,)
        yield (
            (gpus.TEMPERATURE,),
            lambda: (nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),),
        )
        yield (gpus.SM_CLOCK,), lambda: clock(nvml.NVML_CLOCK_SM)
        yield (gpus.MEMORY_CLOCK,), lambda: clock(nvml.NVML_CLOCK_MEM)
        yield gpus.THROTTLED, throttled

    def _slow_offers(self, gpu: Any) -> Iterator[Offer]:
        nvml = self._nvml.library

        def errors() -> Sequence[float]:
            kinds = (nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED)
            return [
                nvml.nvmlDeviceGetTotalEccErrors(gpu, kind, nvml.NVML_VOLATILE_ECC)
                for kind in kinds
            ]

        yield gpus.ECC_ERRORS, errors
        yield (gpus.POWER_LIMIT,), lambda: (nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / _MILLI,)
