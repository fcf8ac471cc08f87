"""CPU time per step, CPU contention and workload per step.

Together they separate the causes of slow steps: other processes on the machine make steps longer
without adding CPU time. Larger inputs, more trained layers and more passes add work on purpose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Samples, Window
from sonde.records.arrays import BoolArray
from sonde.rules._rule import State

_CPU_PERCENT = "process_tree.cpu_percent"
_CPU_PRESSURE = "pressure.cpu_some_percent"
_CPU_WAIT = "process_tree.cpu_wait_percent"
_RUNNING_THREADS = "cpu.running_threads"
_CORE_UTILIZATION = "cpu.utilization_percent"  # one series per core
_INPUTS = "inputs"
_WORKLOAD_TENSORS = (_INPUTS, "gradients")  # the size of a batch and of the trained parameters


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for work per step and CPU contention.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    # of the time, some task waits for a core; above it, CPU time per step is not meaningful
    full_pressure_percent: float = 80.0
    busy_pressure_percent: float = 50.0  # of the time, some task waits for a core
    # increase of the time in which some task waits for a core
    added_pressure_percent: float = 20.0
    min_samples: int = 6
    larger_factor: float = 1.1  # of inputs, gradients or passes: more work
    waiting_margin: float = 1.25  # of the slowdown that waiting for a core explains; less is noise
    max_wait_share: float = 0.95  # beyond it, the slowdown that a wait explains is unbounded
    min_core_share: float = 0.3  # a worker with less may also be waiting for a disk


LIMITS = Calibration()


def add_cpu_time(window: Window, table: StepTable, is_usable: BoolArray, state: State) -> None:
    """Add the duration of the usable steps, and CPU usage during the window, to the state."""
    state["seconds"] = state.get("seconds", 0.0) + _seconds(table, is_usable)
    state["steps"] = state.get("steps", 0) + int(is_usable.sum())
    _add_metrics(window, table, state)


def add_workload(window: Window, table: StepTable, state: State) -> None:
    """Add the sizes of inputs and gradients and the passes per step to the state."""
    workload = {"passes": float(table.passes.mean())}
    for collection in _WORKLOAD_TENSORS:
        tensors = window.tensors(collection)
        latest = max((int(tensor.steps[-1]) for tensor in tensors), default=0)
        if tensors:
            workload[collection] = sum(
                float(tensor.column("count")[-1])
                for tensor in tensors
                if tensor.steps[-1] == latest
            )
    _merge_ranges(state, {name: (amount, amount, amount) for name, amount in workload.items()})


def merge_workload(state: State, other: State) -> None:
    """Add the workload of another state to the state."""
    _merge_ranges(state, other.of("amounts"))


def _merge_ranges(state: State, added: Mapping[str, Sequence[float]]) -> None:
    """Update the minimum, maximum and latest value of each amount."""
    amounts = state.of("amounts")
    for name, (low, high, last) in added.items():
        minimum, maximum, _ = amounts.get(name, (low, high, last))
        amounts[name] = [min(minimum, low), max(maximum, high), last]


def cpu_time_ratio(before: State, now: State) -> float | None:
    """Return the ratio of CPU time per step, now to before, or None if it was not measured.

    With few earlier samples it is a lower bound: the highest recorded usage replaces their mean.
    """
    cpu_before, cpu_now = before.of(_CPU_PERCENT), now.of(_CPU_PERCENT)
    if not cpu_now.get("count") or not before.get("steps") or not now.get("steps"):
        return None
    maximum = max(cpu_now["most"], cpu_before.get("most", 0.0))
    percent_before = cpu_before["sum"] / cpu_before["count"] if has_cpu_samples(before) else maximum
    percent_now = cpu_now["sum"] / cpu_now["count"]
    per_step_before = percent_before * before["seconds"] / before["steps"]
    per_step_now = percent_now * now["seconds"] / now["steps"]
    return float(per_step_now / per_step_before) if per_step_before > 0 else None


def has_cpu_samples(state: State) -> bool:
    """Whether there are enough CPU samples for a reliable mean.

    The first sample can include CPU time from before the steps.
    """
    return bool(state.of(_CPU_PERCENT).get("count", 0) >= LIMITS.min_samples)


def is_contended(before: State, now: State) -> bool:
    """Whether CPU pressure is very high or much higher than before; False if not measured."""
    if not now.of(_CPU_PRESSURE).get("count"):
        return False
    percent_before, percent_now = _mean(before.of(_CPU_PRESSURE)), _mean(now.of(_CPU_PRESSURE))
    return (
        percent_now >= LIMITS.full_pressure_percent
        or percent_now - percent_before >= LIMITS.added_pressure_percent
    )


def is_explained_by_waiting(before: State, now: State, slowdown: float) -> bool:
    """Whether longer waits for a core explain why steps take `slowdown` times as long.

    A process that runs half of the time takes twice as long. CPUContention reports the cause.
    """
    if not now.of(_CPU_WAIT).get("count"):
        return False
    wait_before, wait_now = (
        min(LIMITS.max_wait_share, _mean(state.of(_CPU_WAIT)) / 100) for state in (before, now)
    )
    return slowdown <= LIMITS.waiting_margin * (1 - wait_before) / (1 - wait_now)


def core_share(window: Window, table: StepTable, default: float = 1.0, processes: int = 1) -> float:
    """Return the share of a core that each process of a worker had; 1 without contention.

    Work that takes 9 ms with a third of a core takes 3 ms on an idle machine.

    Args:
        window: The window of the steps.
        table: The steps of the worker.
        default: The result if CPU usage was not measured in the window.
        processes: How many processes of the worker need a core each, including the worker itself.
    """
    state = State()
    _add_metrics(window, table, state)
    cpu, pressure = state.of(_CPU_PERCENT), state.of(_CPU_PRESSURE)
    if not cpu.get("count") or not pressure.get("count"):
        return default
    if _mean(pressure) < LIMITS.busy_pressure_percent:
        return 1.0
    workers = max(1, len(window.attempt.lives))
    minimum = min(LIMITS.min_core_share, 1 / processes / _threads_per_core(window, table))
    return float(min(1.0, max(minimum, _mean(cpu) / 100 / workers / processes)))


def has_same_workload(before: State, now: State) -> bool:
    """Whether inputs, gradients and passes per step have not grown; False if unknown."""
    earlier, later = before.of("amounts"), now.of("amounts")
    is_known = any(name in earlier for name in _WORKLOAD_TENSORS) and set(earlier) <= set(later)
    return is_known and all(
        later[name][1] <= LIMITS.larger_factor * earlier[name][0] for name in earlier
    )


def has_larger_workload(before: State, now: State) -> bool:
    """Whether the latest inputs, gradients or passes per step are larger than any before.

    Only the latest value counts: steps may have become slow before the workload grew.
    """
    earlier, later = before.of("amounts"), now.of("amounts")
    return any(
        later[name][2] > LIMITS.larger_factor * earlier[name][1]
        for name in set(earlier) & set(later)
    )


def _threads_per_core(window: Window, table: StepTable) -> float:
    """Return the mean number of runnable threads per core, at least 1; 1 if not measured."""
    node, state = window.attempt.node_of(table.worker), State()
    _add_metrics(window, table, state, (_RUNNING_THREADS,))
    cores = sum(
        samples.node == node and bool(samples.device)
        for samples in window.system(_CORE_UTILIZATION)
    )
    return max(1.0, _mean(state.of(_RUNNING_THREADS)) / cores) if cores else 1.0


def lacks_input_sizes(before: State, now: State) -> bool:
    """Whether input sizes were recorded before, but not yet now."""
    return _INPUTS in before.of("amounts") and _INPUTS not in now.of("amounts")


def _add_metrics(
    window: Window,
    table: StepTable,
    state: State,
    metrics: Sequence[str] = (_CPU_PERCENT, _CPU_PRESSURE, _CPU_WAIT),
) -> None:
    node = window.attempt.node_of(table.worker)
    first_ns, last_ns = int(table.starts_ns[0]), int(table.ends_ns[-1])
    for metric in metrics:
        for samples in window.system(metric):
            if samples.node == node and not samples.device:
                _add_samples(samples, first_ns, last_ns, state.of(metric))


def _mean(sums: State) -> float:
    """Return the mean of the samples; 0 if there are none."""
    return float(sums["sum"] / sums["count"]) if sums.get("count") else 0.0


def _seconds(table: StepTable, is_usable: BoolArray) -> float:
    return float(table.durations_ns[is_usable].sum()) / NANOSECONDS


def _add_samples(samples: Samples, first_ns: int, last_ns: int, state: State) -> None:
    start, end = samples.times_ns.searchsorted((first_ns, last_ns)).tolist()
    values = samples.values[start:end]
    if len(values):
        state["sum"] = state.get("sum", 0.0) + float(values.sum())
        state["count"] = state.get("count", 0) + len(values)
        state["most"] = max(state.get("most", 0.0), float(values.max()))
