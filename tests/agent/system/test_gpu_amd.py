import math
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.gpu_amd import GpuAmd
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named


def _card(fake: FakeMachine, number: int, **files: str) -> None:
    for name, content in files.items():
        path = name.replace("hwmon_", "hwmon/hwmon3/")
        fake.write(f"sys/class/drm/card{number}/device/{path}", f"{content}\n")


def test_values_have_the_same_units_as_those_of_other_vendors(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    _card(
        fake,
        1,
        gpu_busy_percent="70",
        mem_busy_percent="30",
        mem_info_vram_used="1000",
        mem_info_vram_total="4000",
        hwmon_power1_average="250000000",
        hwmon_power1_cap="300000000",
        hwmon_temp1_input="55000",
        hwmon_freq1_input="2100000000",
        hwmon_freq2_input="900000000",
    )
    fake.write("sys/class/drm/card1-DP-1/status", "connected\n")
    collector = GpuAmd(fake.machine())
    collector.open()
    assert named(collector, collector.read(0.0)) == {
        "gpu.utilization_percent/gpu0": 70,
        "gpu.memory_controller_percent/gpu0": 30,
        "gpu.memory_used_bytes/gpu0": 1000,
        "gpu.memory_total_bytes/gpu0": 4000,
        "gpu.power_watts/gpu0": pytest.approx(250.0),
        "gpu.power_limit_watts/gpu0": pytest.approx(300.0),
        "gpu.temperature_celsius/gpu0": pytest.approx(55.0),
        "gpu.sm_clock_mhz/gpu0": pytest.approx(2100.0),
        "gpu.memory_clock_mhz/gpu0": pytest.approx(900.0),
        "gpu.memory_used_percent/gpu0": 25.0,
    }
    collector.close()


def test_cards_are_numbered_after_nvidia_gpus(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    for number in (10, 2):
        _card(fake, number, gpu_busy_percent=str(number))
    fake.write("proc/driver/nvidia/gpus/0000:01:00.0/information", "")
    collector = GpuAmd(fake.machine())
    collector.open()
    assert named(collector, collector.read(0.0)) == {
        "gpu.utilization_percent/gpu1": 2,
        "gpu.utilization_percent/gpu2": 10,
    }


def test_a_failing_sensor_is_unknown(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    _card(fake, 0, gpu_busy_percent="1", hwmon_power1_input="9000000")
    collector = GpuAmd(fake.machine())
    collector.open()
    _card(fake, 0, gpu_busy_percent="")
    values = named(collector, collector.read(0.0))
    assert math.isnan(values["gpu.utilization_percent/gpu0"])
    assert values["gpu.power_watts/gpu0"] == pytest.approx(9.0)


def test_collector_is_not_available_for_cards_of_other_vendors(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    _card(fake, 0, vendor="0x8086")
    with pytest.raises(NothingToCollectError, match="no AMD GPU"):
        GpuAmd(fake.machine()).open()


def test_this_machine_reports_gpus_or_a_reason() -> None:
    collector = GpuAmd(Machine())
    try:
        collector.open()
    except NothingToCollectError:
        return
    assert len(collector.read(0.0)) == len(collector.series)
    collector.close()
