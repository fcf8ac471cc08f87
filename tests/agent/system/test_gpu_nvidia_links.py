import sys
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.gpu_nvidia_links import GpuNvidiaLinks
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named
from tests.fakes.nvml import FakeGpu, FakeNvml


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    fake = FakeMachine(tmp_path)
    fake.write("proc/driver/nvidia/version", "NVRM version: 570\n")
    return fake


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    nvml = FakeNvml(FakeGpu())
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return nvml


def _opened(machine: Machine) -> GpuNvidiaLinks:
    links = GpuNvidiaLinks(machine)
    links.open()
    return links


def test_link_traffic_becomes_rates(fake: FakeMachine, nvml: FakeNvml) -> None:
    links = _opened(fake.machine())
    links.read(0.0)
    nvml.gpus[0].nvlink_kib = {138: 5000, 139: 10_000}
    nvml.gpus[0].pcie_replays = 10
    assert named(links, links.read(5.0)) == {
        "gpu.pcie_transmit_bytes_per_second/gpu0": 100 * 1024,
        "gpu.pcie_receive_bytes_per_second/gpu0": 200 * 1024,
        "gpu.pcie_replays_per_second/gpu0": 2.0,
        "gpu.nvlink_transmit_bytes_per_second/gpu0": 1000 * 1024,
        "gpu.nvlink_receive_bytes_per_second/gpu0": 2000 * 1024,
    }
    links.close()
    assert nvml.opened == 0


def test_a_gpu_without_nvlink_has_no_series_for_it(fake: FakeMachine, nvml: FakeNvml) -> None:
    nvml.unsupported = {"nvmlDeviceGetFieldValues"}
    links = _opened(fake.machine())
    assert not any("nvlink" in key for key in named(links, links.read(0.0)))


def test_collector_is_not_available_without_link_counters(
    fake: FakeMachine, nvml: FakeNvml
) -> None:
    nvml.unsupported = {
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetPcieThroughput",
        "nvmlDeviceGetPcieReplayCounter",
    }
    with pytest.raises(NothingToCollectError, match="neither"):
        GpuNvidiaLinks(fake.machine()).open()
    assert nvml.opened == 0


def test_this_machine_reports_links_or_a_reason() -> None:
    links = GpuNvidiaLinks(Machine())
    try:
        links.open()
    except NothingToCollectError:
        return
    assert len(links.read(0.0)) == len(links.series)
    links.close()
