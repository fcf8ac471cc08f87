"""How much a job's processes work for a step, and how busy the machine is beside them.

A neighbour on the machine makes steps longer and leaves the work for each of them as it was; larger
inputs, layers that are trained again, more passes mean more work, and are meant.
"""

from collections.abc import Mapping, Sequence

from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Samples, Window
from sonde.read.workers import Marks
from sonde.rules._rule import State

_CPU = "process_tree.cpu_percent"
_PRESSURE = "pressure.cpu_some_percent"
_WAIT = "process_tree.cpu_wait_percent"
_THREADS = "cpu.running_threads"
_CORES = "cpu.utilization_percent"  # of each
_INPUTS = "inputs"
_AMOUNTS = (_INPUTS, "gradients")  # tensors that tell what is trained with, and what
_FULL = 80.0  # percent of the time in which somebody waits for a core: more tells nothing
_BUSY = 50.0  # percent of the time in which somebody waits for a core
_CROWDED = 20.0  # percent of the time in which somebody waits for a core, beyond what was before
_ENOUGH_SAMPLES = 6
_LARGER = 1.1
_MORE_THAN_WAITING = 1.25  # times as long as waiting for a core explains: less is noise
_LONGEST_WAIT = 0.95  # of the time: beyond that it tells no factor
_LEAST_SHARE = 0.3  # who has less of a core may also wait for a disk, unless so many want one


def note_work(window: Window, table: StepTable, is_usable: Marks, known: State) -> None:
    """Adds to what is known how long some steps took, and what the machine did meanwhile."""
    known["seconds"] = known.get("seconds", 0.0) + _seconds(table, is_usable)
    known["steps"] = known.get("steps", 0) + int(is_usable.sum())
    _note_machine(window, table, known)


def note_amounts(window: Window, table: StepTable, known: State) -> None:
    """Adds to what is known how much steps were given, and how much they trained."""
    found = {"passes": float(table.passes.mean())}
    for collection in _AMOUNTS:
        tensors = window.tensors(collection)
        latest = max((int(one.steps[-1]) for one in tensors), default=0)
        if tensors:
            found[collection] = sum(
                float(one.column("count")[-1]) for one in tensors if one.steps[-1] == latest
            )
    _add_amounts(known, {name: (amount, amount, amount) for name, amount in found.items()})


def join_amounts(known: State, more: State) -> None:
    """Adds to what is known what was noted apart."""
    _add_amounts(known, more.of("amounts"))


def _add_amounts(known: State, found: Mapping[str, Sequence[float]]) -> None:
    """The least, the most and the last of each."""
    amounts = known.of("amounts")
    for name, (low, high, last) in found.items():
        least, most, _ = amounts.get(name, (low, high, last))
        amounts[name] = [min(least, low), max(most, high), last]


def times_the_work(before: State, now: State) -> float | None:
    """How much more the processes compute for a step, at least; None where nobody has measured it.

    Where there are few samples of before, they may have computed as much as they ever did.
    """
    cpu_before, cpu_now = before.of(_CPU), now.of(_CPU)
    if not cpu_now.get("count") or not before.get("steps") or not now.get("steps"):
        return None
    is_known = is_measured(before)
    most = max(cpu_now["most"], cpu_before.get("most", 0.0))
    level = cpu_before["sum"] / cpu_before["count"] if is_known else most
    each_before = level * before["seconds"] / before["steps"]
    each_now = cpu_now["sum"] / cpu_now["count"] * now["seconds"] / now["steps"]
    return float(each_now / each_before) if each_before > 0 else None


def is_measured(known: State) -> bool:
    """Whether there are samples enough to tell how much processes computed, on a full machine, too.

    One of the first second holds what came before the steps.
    """
    return bool(known.of(_CPU).get("count", 0) >= _ENOUGH_SAMPLES)


def is_crowded(before: State, now: State) -> bool:
    """Whether processes wait for cores much more than before, or nearly all the time.

    Not where nobody has measured it.
    """
    waits = [one.of(_PRESSURE) for one in (before, now)]
    if not waits[1].get("count"):
        return False
    shares = [one["sum"] / one["count"] if one.get("count") else 0.0 for one in waits]
    return bool(shares[1] >= _FULL or shares[1] - shares[0] >= _CROWDED)


def is_only_waiting(before: State, now: State, times: float) -> bool:
    """Whether steps take so many times as long since processes wait longer for a core.

    Who runs for half of the time takes twice as long; CPUContention says who is in the way.
    """
    then, later = before.of(_WAIT), now.of(_WAIT)
    if not later.get("count"):
        return False
    shares = [
        min(_LONGEST_WAIT, one["sum"] / one["count"] / 100) if one.get("count") else 0.0
        for one in (then, later)
    ]
    return times <= _MORE_THAN_WAITING * (1 - shares[0]) / (1 - shares[1])


def share_of_a_core(
    window: Window, table: StepTable, before: float = 1.0, processes: int = 1
) -> float:
    """How much of a core a worker had while steps ran; 1 where nobody was in its way.

    What takes 10 ms with a third of a core takes 3 ms on a machine of one's own.

    Args:
        window: What is looked at.
        table: The steps of the worker.
        before: What is said where nothing was measured meanwhile.
        processes: How many of the worker's would each have a core, itself among them: of one that
            waits for another, both wait for a core.
    """
    known = State()
    _note_machine(window, table, known)
    cpu, pressure = known.of(_CPU), known.of(_PRESSURE)
    if not cpu.get("count") or not pressure.get("count"):
        return before
    if pressure["sum"] / pressure["count"] < _BUSY:
        return 1.0
    workers = max(1, len(window.leg.lives))
    least = min(_LEAST_SHARE, 1 / processes / _threads_for_a_core(window, table))
    return float(min(1.0, max(least, cpu["sum"] / cpu["count"] / 100 / workers / processes)))


def is_as_much(before: State, now: State) -> bool:
    """Whether steps are given as much as before, and train as much; not where that is not known."""
    then, later = before.of("amounts"), now.of("amounts")
    is_known = any(name in then for name in _AMOUNTS) and set(then) <= set(later)
    return is_known and all(later[name][1] <= _LARGER * then[name][0] for name in then)


def is_more(before: State, now: State) -> bool:
    """Whether steps are plainly given more than before by now, or train more, or have more passes.

    A busy machine may have made them slow before that.
    """
    then, later = before.of("amounts"), now.of("amounts")
    return any(later[name][2] > _LARGER * then[name][1] for name in set(then) & set(later))


def _threads_for_a_core(window: Window, table: StepTable) -> float:
    """How many threads wanted each core while steps ran; 1 where nobody has counted them."""
    node, known = window.leg.node_of(table.worker), State()
    _note_machine(window, table, known, (_THREADS,))
    threads = known.of(_THREADS)
    cores = sum(one.node == node and bool(one.device) for one in window.system(_CORES))
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
    known: State,
    metrics: Sequence[str] = (_CPU, _PRESSURE, _WAIT),
) -> None:
    node = window.leg.node_of(table.worker)
    first_ns, last_ns = int(table.starts_ns[0]), int(table.ends_ns[-1])
    for metric in metrics:
        for samples in window.system(metric):
            if samples.node == node and not samples.device:
                _note(samples, first_ns, last_ns, known.of(metric))


def _seconds(table: StepTable, is_usable: Marks) -> float:
    return float(table.durations_ns[is_usable].sum()) / NANOSECONDS


def _note(samples: Samples, first_ns: int, last_ns: int, known: State) -> None:
    start, end = samples.times_ns.searchsorted((first_ns, last_ns)).tolist()
    values = samples.values[start:end]
    if len(values):
        known["sum"] = known.get("sum", 0.0) + float(values.sum())
        known["count"] = known.get("count", 0) + len(values)
        known["most"] = max(known.get("most", 0.0), float(values.max()))
