"""CPU usage of a node, by the job and by other processes."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.read.window import Window

WAIT = "process_tree.cpu_wait_percent"
_JOB = "process_tree.cpu_percent"  # 100 is one core
_MACHINE = "cpu.utilization_percent"
_THROTTLED = "cgroup.throttled_percent"
LOAD_METRICS = (WAIT, _JOB, _MACHINE)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How many samples a mean needs; chosen by hand."""

    min_samples: int = 5


LIMITS = Calibration()


@dataclass(frozen=True)
class NodeLoad:
    """CPU usage of one node in one window, by the job and by other processes."""

    node: str
    cores: int
    wait: float  # percent of the time that the job wanted a core
    job: float  # percent of all cores
    other_processes: float
    throttled: float  # percent of the periods of the container's quota


def node_loads(window: Window) -> Iterator[NodeLoad]:
    """Yield the load of each node with enough samples."""
    waits = _means(window, WAIT)
    jobs, machines, quotas = (_means(window, item) for item in (_JOB, _MACHINE, _THROTTLED))
    for node, (wait, count) in waits.items():
        cores = sum(
            samples.node == node and bool(samples.device) for samples in window.system(_MACHINE)
        )
        if count < LIMITS.min_samples or node not in jobs or node not in machines or not cores:
            continue
        job = jobs[node][0] / cores
        other_processes = max(0.0, machines[node][0] - job)
        yield NodeLoad(node, cores, wait, job, other_processes, quotas.get(node, (0.0, 0))[0])


def _means(window: Window, metric: str) -> dict[str, tuple[float, int]]:
    """Return the mean and the number of samples of a metric, by node."""
    return {
        samples.node: (float(samples.values.mean()), len(samples))
        for samples in window.system(metric)
        if not samples.device
    }
