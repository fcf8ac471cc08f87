"""SlowCheckpoints: saving checkpoints takes a large part of the training time."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.step import Phase
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_LEAST_CHECKPOINTS = 3  # one or two at a beginning or an end tell no habit
_LEAST_SECONDS = 1.0  # saved in all: less is nobody's trouble
_RECENT_WINDOWS = 20  # of 50 steps: a script may save less often later on


class SlowCheckpoints(Rule):
    """Saving checkpoints takes a large part of the training time.

    Why it matters: training waits while a checkpoint is written.
    How it decides: over the last 1,000 training steps, 3 or more steps contain a save
    (`torch.save`, `torch.distributed.checkpoint`, safetensors, joblib or `pickle.dump`), and the
    saves take more than `threshold` percent of the time of these steps and at least 1 second.
    What to do: save less often; save to a local disk and copy in the background; use
    `torch.distributed.checkpoint.async_save`; leave out what can be computed again.
    """

    threshold: Percent = 15.0

    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 4

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds up what saves took in the last steps of each worker."""
        begin_leg(window, state)
        for table in window.steps():
            own = state.of("workers", table.worker)
            saved_ns = table.phases_ns[Phase.CHECKPOINT.value]
            saves = np.flatnonzero(saved_ns)
            seconds = (float(saved_ns.sum()), float(table.durations_ns.sum()))
            row = [len(saves), *(one / NANOSECONDS for one in seconds)]
            own["rows"] = [*own.get("rows", []), row][-_RECENT_WINDOWS:]
            if not len(saves):
                continue
            count, spent, total = np.sum(np.array(own["rows"]), axis=0).tolist()
            own.setdefault("since", int(table.steps[saves[0]]))
            share = 100 * spent / max(total, 1e-9)
            is_felt = count >= _LEAST_CHECKPOINTS and spent >= _LEAST_SECONDS
            if is_felt and share > self.threshold:
                steps = (int(own["since"]), int(table.steps[saves[-1]]))
                yield self._found(table.worker, steps, (int(count), spent, share))

    def _found(
        self, worker: int, steps: tuple[int, int], measured: tuple[int, float, float]
    ) -> Finding:
        count, spent, share = measured
        return self.finding(
            f"Saving checkpoints takes {share:.0f}% of the training time of worker {worker}: "
            f"{count} saves, {spent / count:.3g} s each on average.",
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
