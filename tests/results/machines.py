"""Recorded nodes for tests of live views."""

from sonde.clock import NANOSECONDS
from sonde.records.job import Exit, ExitReason, Heartbeat, JobState, Overhead
from sonde.results.live import JobNow, Observer
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob

TICKS = 40


def machine(
    cores: int = 4, gpus: int = 0, busy_gpus: int = 0, limit: float = 0
) -> dict[str, float]:
    """Return constant metric values of a machine."""
    values = {
        "cpu.utilization_percent": 42.0,
        "memory.total_bytes": 64e9,
        "memory.used_bytes": 16e9,
        "memory.used_percent": 25.0,
        "disk.read_bytes_per_second/sda": 1.5e6,
        "disk.read_bytes_per_second/sdb": 0.5e6,
        "disk.write_bytes_per_second/sda": 0.0,
        "network.receive_bytes_per_second/eth0": 2e3,
        "process_tree.processes": 3.0,
        "process_tree.cpu_percent": 168.0,
        "process_tree.rss_bytes": 4e9,
        "disk.free_bytes//": 8e9,
        "disk.free_percent//": 4.0,
    }
    values |= {f"cpu.utilization_percent/cpu{core}": 10.0 for core in range(cores)}
    if limit:
        values |= {"cgroup.memory_limit_bytes": limit, "cgroup.memory_used_bytes": 0.5 * limit}
    for number in range(gpus):
        is_busy = number < busy_gpus
        values |= {
            f"gpu.utilization_percent/gpu{number}": 97.0 if is_busy else 0.0,
            f"gpu.memory_used_bytes/gpu{number}": 40e9,
            f"gpu.memory_total_bytes/gpu{number}": 80e9,
            f"gpu.power_watts/gpu{number}": 400.0,
            f"gpu.temperature_celsius/gpu{number}": 61.0,
        }
    return values


def record(uri: str, values: dict[str, float], node: str = "gpu-box") -> FakeJob:
    """Record a running node that has just been sampled for 20 seconds."""
    job = FakeJob(uri, node=node, clock=FakeClock())
    job.record({key: [value] * TICKS for key, value in values.items()})
    beat(job, node)
    return job


def beat(job: FakeJob, node: str) -> None:
    """Write a heartbeat with the current time."""
    life = Heartbeat(job.clock.now_ns(), 5.0, Overhead(0.1, 2_000_000, 20.0))
    job.backend.write(attempt_key(node, 1, "heartbeat"), encode_facts(life))


def end(job: FakeJob, state: JobState, message: str | None, code: int = 1) -> None:
    """Write the exit of a job's command."""
    exit_ = Exit(state, ExitReason.EXIT, job.clock.now_ns(), code, None, message)
    job.backend.write(attempt_key(job.node, 1, "exit"), encode_facts(exit_))


def poll(job: FakeJob, later_seconds: float = 0.0) -> JobNow:
    """Return the current state of the job, or that some seconds later."""
    clock = FakeClock(job.clock.now_ns() + int(later_seconds * NANOSECONDS))
    return Observer(job.backend, clock).poll()
