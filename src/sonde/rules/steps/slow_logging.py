"""SlowLogging: printing and logging take a large part of the training time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.speedups import rarer
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.read.window import Window
from sonde.records.advice import Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding
from sonde.records.need import Observations, Steps
from sonde.records.observation import ObservationKind
from sonde.records.observations.training import OutputSource
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

_KIND = ObservationKind.OUTPUT_TIME.value


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of SlowLogging.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    recent_windows: int = 6  # of 10 seconds
    min_steps: int = 20
    min_seconds: float = 0.5  # of output
    rarer_factor: int = 10  # of the remedy
    min_step_seconds: float = 0.001  # of output; steps of a toy model are shorter than one print


LIMITS = Calibration()


class SlowLogging(Rule):
    """Printing, logging or progress bars take a large part of the training time.

    Why it matters: Training waits while output is formatted and written.
    How it decides:
    - Over the last minute, the training thread spends more than `threshold` percent of its step
      time in `print`, `logging`, tensor formatting, tqdm, TensorBoard or Weights & Biases calls.
    - This takes at least 1 ms per step and 0.5 seconds in total, over at least 20 steps.
    What to do: Log every N steps, log numbers instead of tensors, raise the log level, or set a
    larger `mininterval` for the progress bar.
    """

    threshold: Percent = 25.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(), Observations(_KIND))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 10.0
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = ("HotFunction", "StepOutlier")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the time spent on output with the time of the steps of each worker."""
        begin_attempt(window, state)
        for observation in window.observations(_KIND):
            spent = state.of("output", observation.worker)
            source = OutputSource.of(observation).function or "output"
            line = f"{source} in {observation.subject or 'unknown code'}"
            spent[line] = spent.get(line, 0.0) + observation.value
        for table in window.steps():
            worker_state, spent = (
                state.of("workers", table.worker),
                state.of("output", table.worker),
            )
            row = [len(table.steps), float(table.durations_ns.sum()) / NANOSECONDS, dict(spent)]
            spent.clear()
            worker_state["rows"] = [*worker_state.get("rows", []), row][-LIMITS.recent_windows :]
            worker_state.setdefault("since", int(table.steps[0]))
            yield from self._judge(table.worker, int(table.steps[-1]), worker_state)

    def _judge(self, worker: int, last_step: int, state: State) -> Iterator[Finding]:
        steps, seconds = np.array([row[:2] for row in state["rows"]]).sum(axis=0).tolist()
        lines: dict[str, float] = {}
        for _, _, output in state["rows"]:
            for line, spent in output.items():
                lines[line] = lines.get(line, 0.0) + spent
        total = sum(lines.values())
        share = 100 * total / max(seconds, 1e-9)
        is_significant = total >= max(LIMITS.min_seconds, LIMITS.min_step_seconds * steps)
        if steps < LIMITS.min_steps or not is_significant or share <= self.threshold:
            return
        maximum = max(lines, key=lambda line: lines[line])
        yield self.finding(
            f"Output takes {format_percent(share)} of the training time of worker {worker}, "
            f"{format_duration(total / steps)} per step; most of it: {maximum}.",
            step=(int(state["since"]), last_step),
            worker=worker,
            subject=f"worker {worker}",
            improvement=_improvement(total, seconds, maximum),
            evidence={
                "lost_percent": share,
                "lost_seconds": total,
                "seconds_per_step_to_win": total / steps,
                "line": maximum,
            },
        )


def _improvement(spent: float, total: float, line: str) -> Improvement:
    factor = LIMITS.rarer_factor
    gain = rarer(total, spent, factor, "the time of output was measured.")
    code = f"if step % {factor} == 0:\n    print(…)"
    remedy = Remedy(f"output at every {factor}th step only", code, gain)
    return Improvement(Bottleneck.OUTPUT, (remedy,), (line,))
