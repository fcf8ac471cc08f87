"""AMD GPUs."""

from collections.abc import Sequence
from pathlib import Path

from sonde.agent.system import _gpus as gpus
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._counters import KernelFile
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

# files in a card's device folder (the first that exists is used), and their unit
_FILES: tuple[tuple[MetricInfo, tuple[str, ...], float], ...] = (
    (gpus.UTILIZATION, ("gpu_busy_percent",), 1),
    (gpus.MEMORY_CONTROLLER, ("mem_busy_percent",), 1),
    (gpus.MEMORY_USED, ("mem_info_vram_used",), 1),
    (gpus.MEMORY_TOTAL, ("mem_info_vram_total",), 1),
    (gpus.POWER, ("hwmon/*/power1_average", "hwmon/*/power1_input"), 1e-6),
    (gpus.POWER_LIMIT, ("hwmon/*/power1_cap",), 1e-6),
    (gpus.TEMPERATURE, ("hwmon/*/temp1_input",), 1e-3),
    (gpus.SM_CLOCK, ("hwmon/*/freq1_input",), 1e-6),
    (gpus.MEMORY_CLOCK, ("hwmon/*/freq2_input",), 1e-6),
)


class GpuAmd(Collector):
    """AMD GPUs: utilization, memory, power, temperature and clocks.

    Requires the amdgpu driver. Metrics that a GPU does not support have no series.
    """

    metrics = (*(metric for metric, _, _ in _FILES), gpus.MEMORY_PERCENT)

    interval_seconds = 0.5
    is_slow = True  # reading a file may query the GPU's controller

    def open(self) -> None:
        self._files: list[tuple[KernelFile, float]] = []
        self._memory: list[tuple[int, int]] = []  # positions of each GPU's used and total
        series: list[Series] = []
        first = self._nvidia_gpus()
        for index, device in enumerate(_devices(self.machine.sys), first):
            indices = {}
            for metric, patterns, unit in _FILES:
                if file := _first_readable(device, patterns):
                    indices[metric] = len(self._files)
                    self._files.append((file, unit))
                    series.append(Series(metric, f"gpu{index}"))
            if gpus.MEMORY_USED in indices and gpus.MEMORY_TOTAL in indices:
                self._memory.append((indices[gpus.MEMORY_USED], indices[gpus.MEMORY_TOTAL]))
        if not series:
            raise NothingToCollectError("no AMD GPU")
        percents = (Series(gpus.MEMORY_PERCENT, series[used].device) for used, _ in self._memory)
        self.series = (*series, *percents)

    def read(self, seconds: float) -> Sequence[float]:
        values = [_number(file) * unit for file, unit in self._files]
        percents = [gpus.memory(values[used], values[total])[2] for used, total in self._memory]
        return values + percents

    def close(self) -> None:
        for file, _ in self._files:
            file.close()

    def _nvidia_gpus(self) -> int:
        """The number of NVIDIA GPUs, which get the first indices."""
        return len(list((self.machine.proc / "driver/nvidia/gpus").glob("*")))


def _devices(sys: Path) -> list[Path]:
    cards = [card for card in (sys / "class/drm").glob("card*") if card.name[4:].isdigit()]
    cards.sort(key=lambda card: int(card.name[4:]))
    return [card / "device" for card in cards if (card / "device/gpu_busy_percent").exists()]


def _first_readable(device: Path, patterns: tuple[str, ...]) -> KernelFile | None:
    for pattern in patterns:
        for path in device.glob(pattern):
            try:
                file = KernelFile(path)
                file.read()
            except OSError:  # listed, but not supported by this GPU
                continue
            return file
    return None


def _number(file: KernelFile) -> float:
    try:
        return int(file.read())
    except (OSError, ValueError):
        return UNKNOWN
