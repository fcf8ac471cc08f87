import math
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.pressure import Pressure
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named


def _lines(mean: float, total: int) -> str:
    return "".join(
        f"{kind} avg10={mean:.2f} avg60=0.00 avg300=0.00 total={total}\n"
        for kind in ("some", "full")
    )


def test_share_since_the_last_reading_and_kernel_average_are_recorded(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    for resource in ("cpu", "memory", "io"):
        fake.write(f"proc/pressure/{resource}", _lines(1.5, 1_000_000))
    pressure = Pressure(fake.machine())
    pressure.open()
    first = named(pressure, pressure.read(10.0))
    assert math.isnan(first["pressure.io_full_percent"])
    assert first["pressure.io_full_avg10_percent"] == 1.5
    fake.write("proc/pressure/io", _lines(2.5, 1_250_000))
    values = named(pressure, pressure.read(10.5))
    assert values["pressure.io_some_percent"] == pytest.approx(50.0)
    assert values["pressure.io_some_avg10_percent"] == 2.5
    assert values["pressure.cpu_some_percent"] == 0.0
    assert "pressure.cpu_full_percent" not in values
    pressure.close()


def test_collector_is_not_available_without_pressure_files(tmp_path: Path) -> None:
    with pytest.raises(NothingToCollectError, match="pressure"):
        Pressure(FakeMachine(tmp_path).machine()).open()


def test_this_machine_reports_pressure_or_a_reason() -> None:
    pressure = Pressure(Machine())
    try:
        pressure.open()
    except NothingToCollectError:
        return
    assert len(pressure.read(0.0)) == len(pressure.series)
    pressure.close()
