"""SlowLogging: printing and logging take a large part of the training time."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations, Steps
from sonde.records.observation import ObservationKind
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_KIND = ObservationKind.OUTPUT_TIME.value
_RECENT_WINDOWS = 6  # of 10 seconds
_LEAST_STEPS = 20
_LEAST_SECONDS = 0.5  # in all: less is nobody's trouble
_LEAST_STEP_SECONDS = 0.001  # of output per step: steps of a toy model are shorter than one print


class SlowLogging(Rule):
    """Printing, logging or progress bars take a large part of the training time.

    Why it matters: training waits while texts are formatted and written.
    How it decides: over the last minute, the training thread spends more than `threshold` percent
    of its step time in `print`, `logging`, tensor formatting, tqdm, TensorBoard or Weights & Biases
    calls, at least 1 ms per step and 0.5 seconds in all. The line that takes most is named.
    What to do: log every N steps; log numbers instead of tensors; raise the log level; give the
    progress bar a larger `mininterval`.
    """

    threshold: Percent = 25.0

    needs = (Steps(), Observations(_KIND))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 10.0
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = ("HotFunction", "StepOutlier")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the time spent on output with the time of the steps, worker by worker."""
        begin_leg(window, state)
        for one in window.observations(_KIND):
            spent = state.of("output", one.worker)
            line = f"{one.facts.get('by', 'output')} in {one.subject or 'unknown code'}"
            spent[line] = spent.get(line, 0.0) + one.value
        for table in window.steps():
            own, spent = state.of("workers", table.worker), state.of("output", table.worker)
            row = [len(table.steps), float(table.durations_ns.sum()) / NANOSECONDS, dict(spent)]
            spent.clear()
            own["rows"] = [*own.get("rows", []), row][-_RECENT_WINDOWS:]
            own.setdefault("since", int(table.steps[0]))
            yield from self._judge(table.worker, int(table.steps[-1]), own)

    def _judge(self, worker: int, last_step: int, state: State) -> Iterator[Finding]:
        steps, seconds = np.array([row[:2] for row in state["rows"]]).sum(axis=0).tolist()
        lines: dict[str, float] = {}
        for _, _, output in state["rows"]:
            for line, spent in output.items():
                lines[line] = lines.get(line, 0.0) + spent
        total = sum(lines.values())
        share = 100 * total / max(seconds, 1e-9)
        is_felt = total >= max(_LEAST_SECONDS, _LEAST_STEP_SECONDS * steps)
        if steps < _LEAST_STEPS or not is_felt or share <= self.threshold:
            return
        most = max(lines, key=lambda line: lines[line])
        yield self.finding(
            f"Output takes {share:.0f}% of the training time of worker {worker}, "
            f"{1e3 * total / steps:.3g} ms per step; most of it: {most}.",
            step=(int(state["since"]), last_step),
            worker=worker,
            subject=f"worker {worker}",
            evidence={
                "lost_percent": share,
                "lost_seconds": total,
                "seconds_per_step_to_win": total / steps,
                "line": most,
            },
        )
