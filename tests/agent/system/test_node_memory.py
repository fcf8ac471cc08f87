from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.memory import Memory
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named


def test_reclaimable_memory_does_not_count_as_used(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    fake.write(
        "proc/meminfo",
        "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\nCached: 300 kB\n"
        "SwapTotal: 50 kB\nSwapFree: 20 kB\nDirty: 7 kB\nShmem: 5 kB\nHugePages_Total: 0\n",
    )
    memory = Memory(fake.machine())
    memory.open()
    assert named(memory, memory.read(0.0)) == {
        "memory.used_percent": 40.0,
        "memory.used_bytes": 400 * 1024,
        "memory.total_bytes": 1000 * 1024,
        "memory.cached_bytes": 300 * 1024,
        "memory.dirty_bytes": 7 * 1024,
        "memory.shared_bytes": 5 * 1024,
        "swap.used_bytes": 30 * 1024,
        "swap.total_bytes": 50 * 1024,
    }
    memory.close()


def test_collector_is_not_available_without_proc(tmp_path: Path) -> None:
    with pytest.raises(NothingToCollectError, match="meminfo"):
        Memory(FakeMachine(tmp_path).machine()).open()


def test_this_machine_has_memory() -> None:
    memory = Memory(Machine())
    memory.open()
    values = named(memory, memory.read(0.0))
    assert 0 < values["memory.used_percent"] < 100
    memory.close()
