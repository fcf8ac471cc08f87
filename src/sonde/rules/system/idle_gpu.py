"""IdleGPU: a GPU stays allocated and does nothing for minutes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, State
from sonde.rules.system._datapoints import Instants
from sonde.rules.system._job_gpus import holds_memory, note_memory

_METRIC = "gpu.utilization_percent"
_STEPS_INSIDE = 2  # one may begin with a pause, and one end with it


class IdleGPU(Rule):
    """A GPU stays allocated and does nothing for minutes.

    Why it matters: you pay for it, and nobody else can have it meanwhile.
    How it decides: per GPU, utilization stays below threshold percent for longer than `minutes`:
    before the first training step, after the last one, or in between. Only GPUs that the job uses
    count: it holds memory there, or where the driver does not tell, they have been at work. What
    was idle before its first work is told when that begins.
    What to do: prepare data before the GPU is allocated; evaluate, save and upload elsewhere or
    meanwhile; end the process, or free the GPU, when training is over.
    """

    minutes: Positive = 5.0
    threshold: Percent = 1.0

    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 30.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LowGPUUtilization",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows the idle time of every GPU."""
        note_memory(window, state)
        training = _note_steps(window, state)
        for samples in window.system(_METRIC):
            gpu = state.of("gpus", f"{samples.node}/{samples.device}")
            if gpu.get("leg") != window.leg.number:
                gpu["leg"], gpu["since_ns"] = window.leg.number, None
            if holds_memory(samples, state) is not False:
                yield from self._follow(samples, gpu, training)
                if holds_memory(samples, state) or gpu.get("was_busy"):
                    yield from self._idle(samples, gpu, training)

    def _follow(self, samples: Samples, gpu: State, training: "_Training") -> Iterator[Finding]:
        """Goes through the stretches of work and of idleness, and tells of those that end."""
        is_busy, times_ns = samples.values >= self.threshold, samples.times_ns
        turns = [0, len(times_ns)]
        if not is_busy.all():
            turns[1:1] = (np.flatnonzero(np.diff(is_busy)) + 1).tolist()
        for first, end in pairwise(turns):
            if is_busy[first]:
                gpu["was_busy"] = True
                if gpu["since_ns"] is not None:
                    gpu["until_ns"] = int(times_ns[first])
                    yield from self._idle(samples, gpu, training)
                    yield self.recovered(f"{samples.node}/{samples.device}")
                gpu["since_ns"] = None
                continue
            begin_ns, gpu["until_ns"] = int(times_ns[first]), int(times_ns[end - 1])
            if gpu["since_ns"] is None:
                gpu["since_ns"], gpu["steps"] = begin_ns, 0
                gpu["after"] = training.last_before(begin_ns)
            gpu["steps"] += training.count(begin_ns, gpu["until_ns"])

    def _idle(self, samples: Samples, gpu: State, training: "_Training") -> Iterator[Finding]:
        if gpu["since_ns"] is None:
            return
        seconds = (gpu["until_ns"] - gpu["since_ns"]) / NANOSECONDS
        if seconds <= 60 * self.minutes:
            return
        where = f"after training step {gpu['after']}"
        if training.seconds_before(gpu["since_ns"], gpu["until_ns"]) > seconds / 2:
            where = "before the first training step"
        elif gpu["steps"] > _STEPS_INSIDE:
            where = f"while {gpu['steps']} training steps went by without it"
        yield self.finding(
            f"{samples.device} of {samples.node} was idle for {_lasted(seconds)} {where}, "
            "though the job holds it.",
            node=samples.node,
            device=samples.device,
            subject=f"{samples.node}/{samples.device}",
            time_ns=(gpu["since_ns"], gpu["until_ns"]),
            evidence={"lost_seconds": seconds, "gpu_hours_lost": seconds / 3600, "where": where},
        )


@dataclass(frozen=True)
class _Training:
    """The training steps of a window, and what is known from before."""

    starts_ns: Instants
    ends_ns: Instants
    steps: Instants
    known: State  # of this leg: began_ns, step

    def seconds_before(self, first_ns: int, last_ns: int) -> float:
        """How much of a stretch lies before the first step."""
        began_ns = int(self.known.get("began_ns", last_ns))
        return (min(last_ns, began_ns) - first_ns) / NANOSECONDS

    def last_before(self, time_ns: int) -> int | None:
        """The last step that was over by then."""
        count = int(np.searchsorted(self.ends_ns, time_ns, side="right"))
        return int(self.steps[count - 1]) if count else self.known.get("before")

    def count(self, first_ns: int, last_ns: int) -> int:
        """How many steps began in a stretch."""
        first, end = np.searchsorted(self.starts_ns, (first_ns, last_ns))
        return int(end - first)


def _note_steps(window: Window, state: State) -> _Training:
    known = state.of("training")
    if known.get("leg") != window.leg.number:
        known.clear()
        known["leg"] = window.leg.number
    known["before"] = known.get("step")
    for table in window.steps()[:1]:
        known.setdefault("began_ns", int(table.starts_ns[0]))
        known["step"] = int(table.steps[-1])
        return _Training(table.starts_ns, table.ends_ns, table.steps, known)
    nothing = np.empty(0, dtype=np.int64)
    return _Training(nothing, nothing, nothing, known)


def _lasted(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"
