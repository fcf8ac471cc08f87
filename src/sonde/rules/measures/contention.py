"""CPU time of a job's processes per step, and the load of other processes.

A neighbour on the machine makes steps longer and leaves the work for each of them as it was; larger
inputs, layers that are trained again, more passes mean more work, and are meant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Samples, Window
from sonde.records.arrays import BoolArray
from sonde.rules._rule import State

_CPU = "process_tree.cpu_percent"
_PRESSURE = "pressure.cpu_some_percent"
_WAIT = "process_tree.cpu_wait_percent"
_THREADS = "cpu.running_threads"
_CORES = "cpu.utilization_percent"  # of each
_INPUTS = "inputs"
_AMOUNTS = (_INPUTS, "gradients")  # tensors that tell what is trained with, and what


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for work per step and CPU contention.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    # time in which some task waits for a core; above it, the CPU share says nothing
    full_pressure_percent: float = 80.0
    busy_pressure_percent: float = 50.0  # time in which some task waits for a core
    # time in which some task waits for a core, in addition to before
    added_pressure_percent: float = 20.0
    min_samples: int = 6
    larger_factor: float = 1.1  # of inputs, gradients or passes that counts as more work
    waiting_margin: float = 1.25  # slowdown beyond what waiting for a core explains; less is noise
    max_wait_share: float = 0.95  # beyond it, the factor that a wait explains is meaningless
    min_core_share: float = 0.3  # a worker with less may also wait for a disk


LIMITS = Calibration()


def note_work(window: Window, table: StepTable, is_usable: BoolArray, state: State) -> None:
    """Adds to what is known how long some steps took, and what the machine did meanwhile."""
    state["seconds"] = state.get("seconds", 0.0) + _seconds(table, is_usable)
    state["steps"] = state.get("steps", 0) + int(is_usable.sum())
    _note_machine(window, table, state)


def note_amounts(window: Window, table: StepTable, state: State) -> None:
    """Adds to what is known how much steps were given, and how much they trained."""
    result = {"passes": float(table.passes.mean())}
    for collection in _AMOUNTS:
        tensors = window.tensors(collection)
        latest = max((int(tensor.steps[-1]) for tensor in tensors), default=0)
        if tensors:
            result[collection] = sum(
                float(tensor.column("count")[-1])
                for tensor in tensors
                if tensor.steps[-1] == latest
            )
    _add_amounts(state, {name: (amount, amount, amount) for name, amount in result.items()})


def join_amounts(state: State, more: State) -> None:
    """Adds to what is known what was noted apart."""
    _add_amounts(state, more.of("amounts"))


def _add_amounts(state: State, added: Mapping[str, Sequence[float]]) -> None:
    """The least, the most and the last of each."""
    amounts = state.of("amounts")
    for name, (low, high, last) in added.items():
        minimum, maximum, _ = amounts.get(name, (low, high, last))
        amounts[name] = [min(minimum, low), max(maximum, high), last]


def times_the_work(before: State, now: State) -> float | None:
    """The lower bound of the increase in CPU time per step; None if it was not measured.

    With few earlier samples, the highest recorded CPU time is used instead.
    """
    cpu_before, cpu_now = before.of(_CPU), now.of(_CPU)
    if not cpu_now.get("count") or not before.get("steps") or not now.get("steps"):
        return None
    is_known = is_measured(before)
    maximum = max(cpu_now["most"], cpu_before.get("most", 0.0))
    level = cpu_before["sum"] / cpu_before["count"] if is_known else maximum
    each_before = level * before["seconds"] / before["steps"]
    each_now = cpu_now["sum"] / cpu_now["count"] * now["seconds"] / now["steps"]
    return float(each_now / each_before) if each_before > 0 else None


def is_measured(state: State) -> bool:
    """Whether there are samples enough to tell how much processes computed, on a full machine, too.

    One of the first second holds what came before the steps.
    """
    return bool(state.of(_CPU).get("count", 0) >= LIMITS.min_samples)


def is_crowded(before: State, now: State) -> bool:
    """Whether processes wait for cores much more than before, or nearly all the time.

    Not where nobody has measured it.
    """
    waits = [item.of(_PRESSURE) for item in (before, now)]
    if not waits[1].get("count"):
        return False
    shares = [wait["sum"] / wait["count"] if wait.get("count") else 0.0 for wait in waits]
    return bool(
        shares[1] >= LIMITS.full_pressure_percent
        or shares[1] - shares[0] >= LIMITS.added_pressure_percent
    )


def is_only_waiting(before: State, now: State, times: float) -> bool:
    """Whether steps take `times` as long only because processes wait longer for a core.

    A process that runs half of the time takes twice as long; CPUContention reports the cause.
    """
    then, later = before.of(_WAIT), now.of(_WAIT)
    if not later.get("count"):
        return False
    shares = [
        min(LIMITS.max_wait_share, item["sum"] / item["count"] / 100) if item.get("count") else 0.0
        for item in (then, later)
    ]
    return times <= LIMITS.waiting_margin * (1 - shares[0]) / (1 - shares[1])


def share_of_a_core(
    window: Window, table: StepTable, before: float = 1.0, processes: int = 1
) -> float:
    """The share of a core that a worker had while steps ran; 1 without contention.

    Work that takes 10 ms with a third of a core takes 3 ms on an idle machine.

    Args:
        window: What is looked at.
        table: The steps of the worker.
        before: What is said where nothing was measured meanwhile.
        processes: How many of the worker's would each have a core, itself among them: of one that
            waits for another, both wait for a core.
    """
    state = State()
    _note_machine(window, table, state)
    cpu, pressure = state.of(_CPU), state.of(_PRESSURE)
    if not cpu.get("count") or not pressure.get("count"):
        return before
    if pressure["sum"] / pressure["count"] < LIMITS.busy_pressure_percent:
        return 1.0
    workers = max(1, len(window.attempt.lives))
    minimum = min(LIMITS.min_core_share, 1 / processes / _threads_for_a_core(window, table))
    return float(min(1.0, max(minimum, cpu["sum"] / cpu["count"] / 100 / workers / processes)))


def is_as_much(before: State, now: State) -> bool:
    """Whether steps are given as much as before, and train as much; not where that is not known."""
    then, later = before.of("amounts"), now.of("amounts")
    is_known = any(name in then for name in _AMOUNTS) and set(then) <= set(later)
    return is_known and all(later[name][1] <= LIMITS.larger_factor * then[name][0] for name in then)


def is_more(before: State, now: State) -> bool:
    """Whether steps are plainly given more than before by now, or train more, or have more passes.

    A busy machine may have made them slow before that.
    """
    then, later = before.of("amounts"), now.of("amounts")
    return any(
        later[name][2] > LIMITS.larger_factor * then[name][1] for name in set(then) & set(later)
    )


def _threads_for_a_core(window: Window, table: StepTable) -> float:
    """Runnable threads per core while steps ran; 1 if not measured."""
    node, measured = window.attempt.node_of(table.worker), State()
    _note_machine(window, table, measured, (_THREADS,))
    threads = measured.of(_THREADS)
    cores = sum(samples.node == node and bool(samples.device) for samples in window.system(_CORES))
    if not threads.get("count") or not cores:
        return 1.0
    return float(max(1.0, threads["sum"] / threads["count"] / cores))


def lacks_inputs(before: State, now: State) -> bool:
    """Whether it is not known yet how much steps are given, as it was before."""
    then, later = before.of("amounts"), now.of("amounts")
    return _INPUTS in then and _INPUTS not in later


def _note_machine(
    window: Window,
    table: StepTable,
    state: State,
    metrics: Sequence[str] = (_CPU, _PRESSURE, _WAIT),
) -> None:
    node = window.attempt.node_of(table.worker)
    first_ns, last_ns = int(table.starts_ns[0]), int(table.ends_ns[-1])
    for metric in metrics:
        for samples in window.system(metric):
            if samples.node == node and not samples.device:
                _note(samples, first_ns, last_ns, state.of(metric))


def _seconds(table: StepTable, is_usable: BoolArray) -> float:
    return float(table.durations_ns[is_usable].sum()) / NANOSECONDS


def _note(samples: Samples, first_ns: int, last_ns: int, state: State) -> None:
    start, end = samples.times_ns.searchsorted((first_ns, last_ns)).tolist()
    values = samples.values[start:end]
    if len(values):
        state["sum"] = state.get("sum", 0.0) + float(values.sum())
        state["count"] = state.get("count", 0) + len(values)
        state["most"] = max(state.get("most", 0.0), float(values.max()))
