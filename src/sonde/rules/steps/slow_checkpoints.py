"""SlowCheckpoints: saving checkpoints takes a large part of the training time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.step import Phase
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of SlowCheckpoints.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_checkpoints: int = 3  # one or two may be saved only at the start or the end
    min_seconds: float = 1.0  # spent on saving
    recent_windows: int = 20  # of 50 steps; a script may save less often later


LIMITS = Calibration()


class SlowCheckpoints(Rule):
    """Saving checkpoints takes a large part of the training time.

    Why it matters: Training waits while a checkpoint is written.
    How it decides:
    - Over the last 1,000 training steps, 3 or more steps contain a save (`torch.save`,
      `torch.distributed.checkpoint`, safetensors, joblib or `pickle.dump`).
    - These saves take more than `threshold` percent of the time of all these steps, and at least 1
      second.
    What to do: Save less often, save to a local disk and copy in the background, use
    `torch.distributed.checkpoint.async_save`, or leave out what can be recomputed.
    """

    threshold: Percent = 15.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 4

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up the time of saves in the recent steps of each worker."""
        begin_attempt(window, state)
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            saved_ns = table.phases_ns[Phase.CHECKPOINT.value]
            saves = np.flatnonzero(saved_ns)
            seconds = (float(saved_ns.sum()), float(table.durations_ns.sum()))
            row = [len(saves), *(value / NANOSECONDS for value in seconds)]
            worker_state["rows"] = [*worker_state.get("rows", []), row][-LIMITS.recent_windows :]
            if not len(saves):
                continue
            count, spent, total = np.sum(np.array(worker_state["rows"]), axis=0).tolist()
            worker_state.setdefault("since", int(table.steps[saves[0]]))
            share = 100 * spent / max(total, 1e-9)
            is_significant = count >= LIMITS.min_checkpoints and spent >= LIMITS.min_seconds
            if is_significant and share > self.threshold:
                steps = (int(worker_state["since"]), int(table.steps[saves[-1]]))
                yield self._finding(table.worker, steps, (int(count), spent, share))

    def _finding(
        self, worker: int, steps: tuple[int, int], measured: tuple[int, float, float]
    ) -> Finding:
        count, spent, share = measured
        return self.finding(
            f"Saving checkpoints takes {format_percent(share)} of the training time of worker "
            f"{worker}: {pluralize(count, 'save')}, {format_duration(spent / count)} each on "
            "average.",
            step=steps,
            worker=worker,
            subject=f"worker {worker}",
            evidence={
                "checkpoints": count,
                "seconds_per_checkpoint": spent / count,
                "lost_seconds": spent,
                "lost_percent": share,
            },
        )
