import math
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.cpu import Cpu
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named


def _stat(*rows: str) -> str:
    return "\n".join(rows) + "\nintr 5 0 0\nctxt 1\nprocs_running 1\n"


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    fake = FakeMachine(tmp_path)
    fake.write("proc/loadavg", "1.25 0.40 0.30 3/84 100\n")
    return fake


def test_shares_of_the_node_add_up_and_each_core_has_its_utilization(fake: FakeMachine) -> None:
    fake.write(
        "proc/stat", _stat("cpu  0 0 0 0 0 0 0 0 0 0", "cpu0" + " 0" * 10, "cpu1" + " 0" * 10)
    )
    cpu = Cpu(fake.machine())
    cpu.open()
    cpu.read(0.0)
    fake.write(
        "proc/stat",
        _stat(
            "cpu  20 10 5 100 40 3 2 20 9 9",
            "cpu0 20 10 5 0 20 3 2 20 9 9",
            "cpu1 0 0 0 100 20 0 0 0 0 0",
        ),
    )
    values = named(cpu, cpu.read(1.0))
    assert values == {
        "cpu.utilization_percent": 30.0,
        "cpu.user_percent": 15.0,
        "cpu.system_percent": 5.0,
        "cpu.iowait_percent": 20.0,
        "cpu.steal_percent": 10.0,
        "cpu.idle_percent": 50.0,
        "cpu.load_1m": 1.25,
        "cpu.running_threads": 3.0,
        "cpu.utilization_percent/cpu0": 75.0,
        "cpu.utilization_percent/cpu1": 0.0,
    }


def test_first_reading_has_only_the_load(fake: FakeMachine) -> None:
    fake.write("proc/stat", _stat("cpu  1 1 1 1 1 1 1 1 1 1", "cpu0 1 1 1 1 1 1 1 1 1 1"))
    cpu = Cpu(fake.machine())
    cpu.open()
    values = named(cpu, cpu.read(0.0))
    assert math.isnan(values["cpu.utilization_percent"])
    assert math.isnan(values["cpu.utilization_percent/cpu0"])
    assert values["cpu.load_1m"] == 1.25


def test_decreasing_iowait_does_not_raise_utilization_above_100(fake: FakeMachine) -> None:
    fake.write("proc/stat", _stat("cpu  0 0 0 100 50 0 0 0 0 0", "cpu0 0 0 0 100 50 0 0 0 0 0"))
    cpu = Cpu(fake.machine())
    cpu.open()
    cpu.read(0.0)
    fake.write("proc/stat", _stat("cpu  10 0 0 100 40 0 0 0 0 0", "cpu0 10 0 0 100 40 0 0 0 0 0"))
    values = named(cpu, cpu.read(0.1))
    assert values["cpu.utilization_percent"] == 100.0
    assert values["cpu.iowait_percent"] == 0.0


def test_an_added_core_gets_a_series(fake: FakeMachine) -> None:
    fake.write("proc/stat", _stat("cpu  1 1 1 1 1 1 1 1 1 1", "cpu0 1 1 1 1 1 1 1 1 1 1"))
    cpu = Cpu(fake.machine())
    cpu.open()
    cpu.read(0.0)
    before = cpu.series
    fake.write(
        "proc/stat",
        _stat("cpu  2 1 1 1 1 1 1 1 1 1", "cpu0 1 1 1 1 1 1 1 1 1 1", "cpu4 2 1 1 1 1 1 1 1 1 1"),
    )
    values = named(cpu, cpu.read(1.0))
    assert cpu.series is not before
    assert "cpu.utilization_percent/cpu4" in values


def test_collector_is_not_available_without_proc(fake: FakeMachine) -> None:
    with pytest.raises(NothingToCollectError, match="stat"):
        Cpu(fake.machine()).open()


def test_this_machine_has_cores() -> None:
    cpu = Cpu(Machine())
    cpu.open()
    cpu.read(0.0)
    assert len(cpu.read(1.0)) == len(cpu.series) >= 9
    cpu.close()
