"""OverallFrameworkMetrics: what the time of a job went into."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Steps
from sonde.records.profile import OperationCategory
from sonde.records.step import Mode
from sonde.rules._rule import Rule, State

_OPERATIONS = {
    "CPU operators": (OperationCategory.OPERATOR.value,),
    "GPU operators": (
        *(OperationCategory.KERNEL.value, OperationCategory.COPY.value),
        OperationCategory.SET.value,
    ),
    "framework events": (OperationCategory.RUNTIME.value, OperationCategory.COLLECTIVE.value),
}


class OverallFrameworkMetrics(Rule):
    """What does the time of the job go into? Statistics: it never fires.

    Why it matters: it says where to look first: at training itself, at evaluation, or at what lies
    between; at computing, or at waiting.
    How it decides: seconds of training steps, of evaluation and predictions, and of everything
    else, from the start of the workers to their end; the phases of training steps; operators on the
    CPU and on the GPU and other events of the framework in the steps that a profiler has seen. All
    in the mean over the workers.
    What to do: begin with the largest.
    """

    needs = tuple(Steps(mode.value) for mode in Mode)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 300.0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds up."""
        end_ns = window.end_ns
        if window.is_last and window.data.facts.end_ns is not None:
            end_ns = min(end_ns, window.data.facts.end_ns)
        _add(state, "whole", (end_ns - window.start_ns) / NANOSECONDS)
        is_profiled = False
        workers = max(1, len(window.leg.ranks))
        for mode in Mode:
            for table in window.steps(mode.value):
                spent = float(table.durations_ns.sum()) / NANOSECONDS
                _add(state.of("modes"), mode.value, spent / workers)
                is_profiled = is_profiled or bool(table.is_profiled.any())
                for phase, spent_ns in table.phases_ns.items() if mode is Mode.TRAIN else ():
                    seconds = float(spent_ns.sum()) / NANOSECONDS
                    _add(state.of("phases"), phase, seconds / workers)
        if is_profiled:  # elsewhere there are none
            self._add_operations(window, state, workers)
        yield from ()

    def summary(self, state: State) -> Evidence:
        """Seconds, and of the modes the share of the whole in percent."""
        modes = state.of("modes")
        whole = float(state.get("whole", 0.0))
        found: dict[str, float] = {f"{name} seconds": spent for name, spent in modes.items()}
        found["other seconds"] = max(0.0, whole - sum(modes.values()))
        if whole:
            shares = {name.replace("seconds", "percent"): one for name, one in found.items()}
            found |= {name: 100 * one / whole for name, one in shares.items()}
        for kind, part in (("phase", state.of("phases")), ("profiled", state.of("operations"))):
            found |= {f"{kind} {name} seconds": spent for name, spent in part.items() if spent}
        return found

    def _add_operations(self, window: Window, state: State, workers: int) -> None:
        for name, categories in _OPERATIONS.items():
            for category in categories:
                for table in window.operations(category, ("self_ns",)).values():
                    spent = float(np.sum(table["self_ns"].to_numpy())) / NANOSECONDS
                    _add(state.of("operations"), name, spent / workers)


def _add(state: State, name: str, seconds: float) -> None:
    state[name] = state.get(name, 0.0) + seconds
