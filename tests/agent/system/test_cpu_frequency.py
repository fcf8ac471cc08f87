from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.cpu_frequency import CpuFrequency
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine


def test_frequencies_are_read_from_cpufreq(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    for core, khz in enumerate((1_000_000, 2_000_000, 3_600_000)):
        fake.write(f"sys/devices/system/cpu/cpufreq/policy{core}/scaling_cur_freq", f"{khz}\n")
    fake.write("sys/devices/system/cpu/cpufreq/policy3/scaling_cur_freq", "<unknown>\n")
    fake.write("proc/cpuinfo", "cpu MHz\t\t: 1.0\n")
    collector = CpuFrequency(fake.machine())
    collector.open()
    assert collector.read(0.0) == (2200.0, 1000.0, 3600.0)


def test_frequencies_are_read_from_cpuinfo_without_cpufreq(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    fake.write("proc/cpuinfo", "cpu MHz\t\t: 2000.5\nflags: a\ncpu MHz\t\t: 3000.5\n")
    collector = CpuFrequency(fake.machine())
    collector.open()
    assert collector.read(0.0) == (2500.5, 2000.5, 3000.5)


def test_collector_is_not_available_without_frequencies(tmp_path: Path) -> None:
    with pytest.raises(NothingToCollectError, match="clock frequency"):
        CpuFrequency(FakeMachine(tmp_path).machine()).open()


def test_this_machine_reports_frequencies_or_a_reason() -> None:
    collector = CpuFrequency(Machine())
    try:
        collector.open()
    except NothingToCollectError:
        return
    mean, slowest, fastest = collector.read(0.0)
    assert 0 < slowest <= mean <= fastest
