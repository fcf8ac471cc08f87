"""How many loader processes a worker should have, from what its steps wait and its machine does."""

from sonde.analyze.loader_processes import (
    Loading,
    ProcessAdvice,
    advise_processes,
    usual_step,
    usual_wait,
)
from sonde.read.loading import Making, read_making
from sonde.read.window import Window
from sonde.records.loading import HOST_METRICS, LoaderFacts, LoaderHost
from sonde.records.ranges import TimeRange
from sonde.rules._rule import State
from sonde.rules.steps._waits import Waits

_CORES = "cores"


def note_cores(window: Window, worker: int, own: State) -> None:
    """Keeps how many cores the job may use: a limit is told now and then, and holds on."""
    if _CORES not in own.of("host"):
        _note_host(window, worker, _CORES, own)


def note_loading(window: Window, waits: Waits, own: State) -> None:
    """Adds what steps usually wait and take, and what the machine did meanwhile."""
    count, usual = len(waits.steps), own.of("usual")
    computed = usual_step(waits.whole - waits.seconds)
    usual["steps"] = usual.get("steps", 0) + count
    usual["wait"] = usual.get("wait", 0.0) + count * usual_wait(waits.seconds)
    usual["step"] = usual.get("step", 0.0) + count * computed
    usual["batches"] = usual.get("batches", 0) + int(waits.batches.sum())
    for name in HOST_METRICS:
        if name != _CORES:
            _note_host(window, waits.worker, name, own)


def making_of(window: Window, worker: int, own: State) -> Making | None:
    """How the loader that serves a worker makes its batches.

    To read it takes milliseconds: the longer somebody asks, the less often it is read again.
    """
    asked = own["asked"] = own.get("asked", 0) + 1
    if asked & (asked - 1) == 0:
        within = TimeRange(window.leg.start_ns, window.end_ns + 1)
        found = read_making(window.data.worker(worker), within)
        own["making"] = None if found is None else _kept(found)
    kept = own["making"]
    if kept is None:
        return None
    facts = LoaderFacts(kept["processes"], cores=kept["cores"])
    return Making(facts, kept["batch_seconds"], kept["cpu_percent"])


def cores_wanted(loaders: int, cores: int) -> int:
    """How many cores a worker and its loader processes would use at once."""
    return max(1, min(1 + loaders, cores))


def _kept(making: Making) -> dict[str, float | None]:
    facts = making.facts
    return {
        "processes": facts.processes,
        "cores": facts.cores,
        "batch_seconds": making.batch_seconds,
        "cpu_percent": making.cpu_percent,
    }


def advice_on(window: Window, worker: int, making: Making, own: State) -> ProcessAdvice | None:
    """What `sonde dataloader` advises, as of the window's end; None where too little is known."""
    usual, node = own.of("usual"), window.leg.node_of(worker)
    if not usual.get("steps"):
        return None
    host = LoaderHost(
        workers=sum(life.info.node == node for life in window.leg.lives) or 1,
        **{name: one["sum"] / one["count"] for name, one in own.of("host").items()},
    )
    wait, step, batches = (usual[name] / usual["steps"] for name in ("wait", "step", "batches"))
    seen = None if making.batch_seconds is None else making.batch_seconds * batches
    return advise_processes(Loading(making.facts, wait, step, host, seen, making.cpu_percent))


def _note_host(window: Window, worker: int, name: str, own: State) -> None:
    node = window.leg.node_of(worker)
    for samples in window.system(HOST_METRICS[name]):
        if samples.node == node and not samples.device and len(samples):
            known = own.of("host", name)
            known["sum"] = known.get("sum", 0.0) + float(samples.values.sum())
            known["count"] = known.get("count", 0) + len(samples)
