import math
import sys
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.gpu_nvidia import GpuNvidia
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named
from tests.fakes.nvml import FakeGpu, FakeNvml


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    fake = FakeMachine(tmp_path)
    fake.write("proc/driver/nvidia/version", "NVRM version: 570\n")
    return fake.machine()


def _install(monkeypatch: pytest.MonkeyPatch, *gpus: FakeGpu) -> FakeNvml:
    nvml = FakeNvml(*gpus)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return nvml


def test_all_metrics_of_all_gpus(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = _install(monkeypatch, FakeGpu(), FakeGpu(utilization=5))
    collector = GpuNvidia(machine)
    collector.open()
    values = named(collector, collector.read(0.0))
    first = {
        key.removesuffix("/gpu0"): value for key, value in values.items() if key.endswith("gpu0")
    }
    assert first == {
        "gpu.utilization_percent": 80,
        "gpu.memory_controller_percent": 40,
        "gpu.memory_used_bytes": 20 << 30,
        "gpu.memory_total_bytes": 80 << 30,
        "gpu.memory_used_percent": 25.0,
        "gpu.power_watts": 350.0,
        "gpu.power_limit_watts": 700.0,
        "gpu.temperature_celsius": 61,
        "gpu.sm_clock_mhz": 1980,
        "gpu.memory_clock_mhz": 2619,
        "gpu.throttled_thermal": 0.0,
        "gpu.throttled_power": 0.0,
        "gpu.throttled_hardware": 0.0,
        "gpu.ecc_uncorrected_errors": 0,
        "gpu.ecc_corrected_errors": 3,
    }
    assert values["gpu.utilization_percent/gpu1"] == 5
    collector.close()
    assert nvml.opened == 0


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [(0x01, (0, 0, 0)), (0x20, (1, 0, 0)), (0x48, (1, 0, 1)), (0x04, (0, 1, 0)), (0x88, (0, 1, 1))],
)
def test_throttling_reasons_have_separate_metrics(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    reasons: int,
    expected: tuple[float, float, float],
) -> None:
    _install(monkeypatch, FakeGpu(throttle_reasons=reasons))
    collector = GpuNvidia(machine)
    collector.open()
    values = named(collector, collector.read(0.0))
    kinds = ("thermal", "power", "hardware")
    assert tuple(values[f"gpu.throttled_{kind}/gpu0"] for kind in kinds) == expected


def test_unsupported_metrics_have_no_series(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml = _install(monkeypatch, FakeGpu())
    nvml.unsupported = {"nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEccErrors"}
    collector = GpuNvidia(machine)
    collector.open()
    values = named(collector, collector.read(0.0))
    assert "gpu.power_watts/gpu0" not in values
    assert "gpu.ecc_corrected_errors/gpu0" not in values
    assert values["gpu.utilization_percent/gpu0"] == 80


def test_a_failing_call_is_unknown_and_the_others_continue(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml = _install(monkeypatch, FakeGpu())
    collector = GpuNvidia(machine)
    collector.open()
    nvml.unsupported = {"nvmlDeviceGetMemoryInfo"}
    values = named(collector, collector.read(0.0))
    assert math.isnan(values["gpu.memory_used_percent/gpu0"])
    assert values["gpu.temperature_celsius/gpu0"] == 61


def test_memory_errors_are_read_every_ten_seconds(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(monkeypatch, FakeGpu())
    collector = GpuNvidia(machine)
    collector.open()
    expected = [
        not math.isnan(named(collector, collector.read(second))["gpu.ecc_corrected_errors/gpu0"])
        for second in (0.0, 5.0, 9.5, 10.0, 10.5)
    ]
    assert expected == [True, False, False, True, False]


def test_failed_initialization_is_reported_with_its_reason(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml = _install(monkeypatch, FakeGpu())
    nvml.unsupported = {"nvmlInit"}
    with pytest.raises(NothingToCollectError, match="Not Supported"):
        GpuNvidia(machine).open()


def test_collector_is_not_available_without_gpus(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(monkeypatch)
    with pytest.raises(NothingToCollectError, match="no NVIDIA GPU"):
        GpuNvidia(machine).open()


def test_this_machine_reports_gpus_or_a_reason() -> None:
    collector = GpuNvidia(Machine())
    try:
        collector.open()
    except NothingToCollectError:
        return
    assert len(collector.read(0.0)) == len(collector.series)
    collector.close()
