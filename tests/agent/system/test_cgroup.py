import math
import os
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system._cgroups import cpus_available, oom_kills
from sonde.agent.system.cgroup import Cgroup
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named

_NO_LIMIT_V1 = "9223372036854771712\n"


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    fake = FakeMachine(tmp_path)
    fake.write("sys/devices/system/cpu/online", "0-7\n")
    fake.write("proc/10/status", "Name:\tpython\nCpus_allowed_list:\t0-3,6,12-63\n")
    fake.write("proc/vmstat", "pgfault 5\noom_kill 4\n")
    return fake


def _unified(fake: FakeMachine, limits: dict[str, tuple[str, str]], path: str) -> None:
    fake.write("proc/10/cgroup", f"0::{path}\n")
    fake.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    for group, (memory, cpu) in limits.items():
        folder = f"sys/fs/cgroup/{group}"
        fake.write(f"{folder}/memory.max", memory)
        fake.write(f"{folder}/memory.current", f"{1000 * len(group)}\n")
        fake.write(f"{folder}/memory.stat", "anon 1\ninactive_file 300\nactive_file 2\n")
        fake.write(f"{folder}/memory.events", "low 0\noom 9\noom_kill 2\n")
        fake.write(f"{folder}/cpu.max", cpu)
        fake.write(f"{folder}/cpu.stat", _cpu_stat_v2(0, 0, 0))


def _cpu_stat_v2(periods: int, throttled: int, microseconds: int) -> str:
    return (
        f"usage_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\n"
        f"throttled_usec {microseconds}\n"
    )


def test_limits_usage_and_throttling_of_a_version_2_group(fake: FakeMachine) -> None:
    _unified(fake, {"job": ("5000\n", "250000 100000\n")}, "/job")
    cgroup = Cgroup(fake.machine(job_pid=10))
    cgroup.open()
    assert named(cgroup, cgroup.read(0.0)) == {
        "cgroup.cpus_available": 2.5,
        "cgroup.memory_limit_bytes": 5000.0,
        "cgroup.cpu_quota_cores": 2.5,
        "cgroup.memory_used_bytes": 3000,
        "cgroup.memory_reclaimable_bytes": 300,
        "cgroup.throttled_percent": pytest.approx(math.nan, nan_ok=True),
        "cgroup.throttled_seconds_per_second": pytest.approx(math.nan, nan_ok=True),
    }
    fake.write("sys/fs/cgroup/job/cpu.stat", _cpu_stat_v2(20, 5, 3_000_000))
    values = named(cgroup, cgroup.read(2.0))
    assert values["cgroup.throttled_percent"] == 25.0
    assert values["cgroup.throttled_seconds_per_second"] == 1.5
    assert math.isnan(values["cgroup.memory_limit_bytes"])
    cgroup.close()


def test_lowest_limit_of_all_parent_groups_is_recorded_with_the_usage_of_its_group(
    fake: FakeMachine,
) -> None:
    limits = {"pod": ("7000\n", "100000 100000\n"), "pod/job": ("max\n", "max 100000\n")}
    _unified(fake, limits, "/pod/job")
    cgroup = Cgroup(fake.machine(job_pid=10))
    cgroup.open()
    values = named(cgroup, cgroup.read(0.0))
    assert values["cgroup.memory_limit_bytes"] == 7000.0
    assert values["cgroup.memory_used_bytes"] == 3000
    assert values["cgroup.cpus_available"] == 1.0


def test_limits_that_are_not_set_have_no_series(fake: FakeMachine) -> None:
    _unified(fake, {"job": ("max\n", "max 100000\n")}, "/job")
    cgroup = Cgroup(fake.machine(job_pid=10))
    cgroup.open()
    assert set(named(cgroup, cgroup.read(0.0))) == {
        "cgroup.cpus_available",
        "cgroup.memory_used_bytes",
        "cgroup.memory_reclaimable_bytes",
    }


def test_version_1_controllers_are_found_in_combined_mounts_and_hybrid_setups(
    fake: FakeMachine,
) -> None:
    fake.write("proc/10/cgroup", "9:cpu,cpuacct:/a\n4:memory:/b\n0::/\n")
    fake.write("sys/fs/cgroup/unified/cgroup.controllers", "")
    fake.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n")
    fake.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n")
    stat = "nr_periods {}\nnr_throttled {}\nthrottled_time {}\n"
    fake.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", stat.format(0, 0, 0))
    fake.write("sys/fs/cgroup/cpuset/cpuset.cpus", "")
    fake.write("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "4096\n")
    fake.write("sys/fs/cgroup/memory/b/memory.usage_in_bytes", "1024\n")
    fake.write("sys/fs/cgroup/memory/b/memory.stat", "inactive_file 1\ntotal_inactive_file 512\n")
    fake.write(
        "sys/fs/cgroup/memory/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"
    )
    cgroup = Cgroup(fake.machine(job_pid=10))
    cgroup.open()
    cgroup.read(0.0)
    fake.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", stat.format(10, 10, 2_000_000_000))
    values = named(cgroup, cgroup.read(10.0))
    assert values == {
        "cgroup.cpus_available": 0.5,
        "cgroup.memory_limit_bytes": 4096.0,
        "cgroup.cpu_quota_cores": 0.5,
        "cgroup.memory_used_bytes": 1024,
        "cgroup.memory_reclaimable_bytes": 512,
        "cgroup.throttled_percent": 100.0,
        "cgroup.throttled_seconds_per_second": 0.2,
    }
    assert oom_kills(fake.machine(job_pid=10)) == {"kernel": 4, "cgroup": 7}


def test_huge_limit_of_version_1_counts_as_no_limit(fake: FakeMachine) -> None:
    fake.write("proc/10/cgroup", "4:memory:/b\n1:cpu:/\n")
    fake.write("sys/fs/cgroup/memory/b/memory.limit_in_bytes", _NO_LIMIT_V1)
    fake.write("sys/fs/cgroup/memory/b/memory.usage_in_bytes", "1024\n")
    fake.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    fake.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    cgroup = Cgroup(fake.machine(job_pid=10))
    cgroup.open()
    assert named(cgroup, cgroup.read(0.0)) == {
        "cgroup.cpus_available": 5,
        "cgroup.memory_used_bytes": 1024,
    }


@pytest.mark.parametrize("path", ["/docker/0123", "/../../elsewhere", "/"])
def test_in_a_container_the_mounted_group_is_used(fake: FakeMachine, path: str) -> None:
    _unified(fake, {".": ("5000\n", "max 100000\n")}, path)
    assert oom_kills(fake.machine(job_pid=10)) == {"kernel": 4, "cgroup": 2}


def test_own_group_is_used_after_the_job_process_has_exited(fake: FakeMachine) -> None:
    _unified(fake, {"job": ("5000\n", "max 100000\n")}, "/job")
    fake.write("proc/self/cgroup", "0::/job\n")
    assert oom_kills(fake.machine(job_pid=11))["cgroup"] == 2


def test_offline_cores_do_not_count(fake: FakeMachine) -> None:
    assert cpus_available(fake.machine(job_pid=10)) == 5


def test_values_of_a_removed_group_are_unknown(fake: FakeMachine) -> None:
    _unified(fake, {"job": ("5000\n", "100000 100000\n")}, "/job")
    cgroup = Cgroup(fake.machine(job_pid=10))
    cgroup.open()
    cgroup.read(0.0)
    for name in ("memory.current", "memory.stat", "cpu.stat", "memory.max", "cpu.max"):
        fake.write(f"sys/fs/cgroup/job/{name}", "")
    values = named(cgroup, cgroup.read(10.0))
    assert {key for key, value in values.items() if not math.isnan(value)} == {
        "cgroup.cpus_available"
    }


def test_collector_is_not_available_without_control_groups(fake: FakeMachine) -> None:
    with pytest.raises(NothingToCollectError, match="control groups"):
        Cgroup(fake.machine(job_pid=10)).open()


def test_this_machine_has_available_cores() -> None:
    machine = Machine(job_pid=os.getpid())
    assert 0 < cpus_available(machine) <= (os.cpu_count() or 1)
    assert all(count >= 0 for count in oom_kills(machine).values())
    cgroup = Cgroup(machine)
    try:
        cgroup.open()
    except NothingToCollectError:
        return
    assert len(cgroup.read(0.0)) == len(cgroup.series)
    cgroup.close()
