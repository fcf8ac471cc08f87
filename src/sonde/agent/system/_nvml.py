"""NVIDIA's management library (NVML), and readings that can fail individually.

pynvml is imported only if there is a driver, because that takes 50 ms.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.agent.system._collector import UNKNOWN, Machine
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

_DRIVER_DEVICES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))  # Linux; WSL


@dataclass(frozen=True)
class Reading:
    """A call of the library for one GPU, and the series of its result."""

    series: tuple[Series, ...]
    call: Callable[[], Sequence[float]]
    error: type[Exception]

    def values(self) -> Sequence[float]:
        """The result; UNKNOWN if the call fails."""
        try:
            return self.call()
        except self.error:
            return [UNKNOWN] * len(self.series)


class Nvml:
    """The opened library and its GPUs."""

    def __init__(self, machine: Machine) -> None:
        self.library = _library(machine)
        self.error: type[Exception] = self.library.NVMLError
        try:
            self.library.nvmlInit()
            count = self.library.nvmlDeviceGetCount()
            self.gpus = [self.library.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except self.error as error:
            raise NothingToCollectError(f"NVML error: {error}") from error
        if not self.gpus:
            raise NothingToCollectError("no NVIDIA GPU")

    def readings(self, offers: Callable[[Any], Iterable["Offer"]]) -> list[Reading]:
        """The offered readings that the GPUs support, tested once."""
        readings = []
        for index, gpu in enumerate(self.gpus):
            for metrics, call in offers(gpu):
                try:
                    call()
                except self.error:  # not on this GPU, this driver, or not for this user
                    continue
                series = tuple(Series(metric, f"gpu{index}") for metric in metrics)
                readings.append(Reading(series, call, self.error))
        return readings

    def close(self) -> None:
        """Close the library, which counts how often it was opened."""
        self.library.nvmlShutdown()


Offer = tuple[tuple[MetricInfo, ...], Callable[[], Sequence[float]]]


def _library(machine: Machine) -> Any:
    driver = machine.proc / "driver/nvidia"
    if not driver.exists() and not any(device.exists() for device in _DRIVER_DEVICES):
        raise NothingToCollectError("no NVIDIA driver")
    try:
        import pynvml  # noqa: PLC0415 — 50 ms, only where there is a driver
    except ImportError as error:
        raise NothingToCollectError("pynvml is missing; install nvidia-ml-py") from error
    return pynvml
