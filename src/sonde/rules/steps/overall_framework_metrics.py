"""OverallFrameworkMetrics: what a job spends its time on."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Steps
from sonde.records.profile import OperationCategory
from sonde.records.step import Mode
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State

_OPERATIONS = {
    "CPU operators": (OperationCategory.OPERATOR.value,),
    "GPU operators": (
        *(OperationCategory.KERNEL.value, OperationCategory.COPY.value),
        OperationCategory.SET.value,
    ),
    "framework events": (OperationCategory.RUNTIME.value, OperationCategory.COLLECTIVE.value),
}


class OverallFrameworkMetrics(ProfilingRule):
    """Where does the job's time go? Statistics only: it never fires.

    Why it matters: It shows where to look first: training, evaluation or the time in between;
    computing or waiting.
    How it decides:
    - Seconds of training steps, evaluation and prediction steps, and everything else, from the
      start of the workers to their end.
    - Seconds of each phase of the training steps.
    - Seconds of CPU operators, GPU operators and other framework events in the profiled steps.
    - All values are means over the workers.
    What to do: Start with the largest value.
    """

    section = Section.SPEED
    needs = tuple(Steps(mode.value) for mode in Mode)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 300.0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up the time of modes, phases and operations."""
        end_ns = window.end_ns
        if window.is_last and window.data.facts.end_ns is not None:
            end_ns = min(end_ns, window.data.facts.end_ns)
        _add(state, "whole", (end_ns - window.start_ns) / NANOSECONDS)
        is_profiled = False
        workers = max(1, len(window.attempt.ranks))
        for mode in Mode:
            for table in window.steps(mode.value):
                spent = float(table.durations_ns.sum()) / NANOSECONDS
                _add(state.of("modes"), mode.value, spent / workers)
                is_profiled = is_profiled or bool(table.is_profiled.any())
                for phase, spent_ns in table.phases_ns.items() if mode is Mode.TRAIN else ():
                    seconds = float(spent_ns.sum()) / NANOSECONDS
                    _add(state.of("phases"), phase, seconds / workers)
        if is_profiled:  # other windows have no operations
            self._add_operations(window, state, workers)
        yield from ()

    def summary(self, state: State) -> Evidence:
        """Seconds of modes, phases and operations, and the modes' percentages of the job."""
        modes = state.of("modes")
        total = float(state.get("whole", 0.0))
        result: dict[str, float] = {f"{name} seconds": spent for name, spent in modes.items()}
        result["other seconds"] = max(0.0, total - sum(modes.values()))
        if total:
            shares = {name.replace("seconds", "percent"): item for name, item in result.items()}
            result |= {name: 100 * item / total for name, item in shares.items()}
        for kind, section in (("phase", state.of("phases")), ("profiled", state.of("operations"))):
            result |= {f"{kind} {name} seconds": spent for name, spent in section.items() if spent}
        return result

    def _add_operations(self, window: Window, state: State, workers: int) -> None:
        for name, categories in _OPERATIONS.items():
            for category in categories:
                for table in window.operations(category, ("self_ns",)).values():
                    spent = float(np.sum(table["self_ns"].to_numpy())) / NANOSECONDS
                    _add(state.of("operations"), name, spent / workers)


def _add(state: State, name: str, seconds: float) -> None:
    state[name] = state.get(name, 0.0) + seconds
