"""SlowCheckpoints: saving checkpoints takes a large part of the training time."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from sonde.analyze.speedups import gain_from, rarer
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.window import Window
from sonde.records.advice import Basis, Bottleneck, Improvement, Remedy, best_first
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
    target_percent: float = 3.0  # of the training time, with the remedy
    # of the time of a save, in the background: copying the state to host memory still blocks
    saved_shares: tuple[float, float, float] = (0.5, 0.8, 1.0)


LIMITS = Calibration()


class SlowCheckpoints(Rule):
    """Saving checkpoints takes a large part of the training time.

    Why it matters: Training waits while a checkpoint is written.
    How it decides:
    - Over the last 1,000 unprofiled training steps, 3 or more contain a save (`torch.save`,
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
            # profilers slow down training more than saves
            is_usable = table.is_representative
            count = np.count_nonzero(saved_ns[is_usable])
            sums_ns = (saved_ns[is_usable].sum(), table.durations_ns[is_usable].sum())
            row = [int(count), *(float(value) / NANOSECONDS for value in sums_ns)]
            worker_state["rows"] = [*worker_state.get("rows", []), row][-LIMITS.recent_windows :]
            if not len(saves):
                continue
            count, spent, total = np.sum(np.array(worker_state["rows"]), axis=0).tolist()
            worker_state.setdefault("since", int(table.steps[saves[0]]))
            share = 100 * spent / max(total, 1e-9)
            is_significant = count >= LIMITS.min_checkpoints and spent >= LIMITS.min_seconds
            if is_significant and share > self.threshold:
                steps = (int(worker_state["since"]), int(table.steps[saves[-1]]))
                yield self._finding(table.worker, steps, (int(count), spent, share), total)

    def _finding(
        self,
        worker: int,
        steps: tuple[int, int],
        measured: tuple[int, float, float],
        total: float,
    ) -> Finding:
        count, spent, share = measured
        return self.finding(
            f"Saving checkpoints takes {format_percent(share)} of the training time of worker "
            f"{worker}: {pluralize(count, 'save')}, {format_duration(spent / count)} each on "
            "average.",
            step=steps,
            worker=worker,
            subject=f"worker {worker}",
            improvement=Improvement(
                Bottleneck.CHECKPOINTS, best_first(tuple(_remedies(spent, total)))
            ),
            evidence={
                "checkpoints": count,
                "seconds_per_checkpoint": spent / count,
                "lost_seconds": spent,
                "lost_percent": share,
            },
        )


def _remedies(spent: float, total: float) -> Iterator[Remedy]:
    """Save less often, or in the background."""
    training = total - spent
    allowed = max(training * LIMITS.target_percent / (100 - LIMITS.target_percent), 1e-9)
    factor = ceil(spent / allowed)
    rest = 100 * spent / factor / (training + spent / factor)
    reason = f"saves were timed; at 1/{factor} of the frequency, they take {format_percent(rest)}."
    gain = rarer(total, spent, factor, reason)
    code = f"if step % (save_every * {factor}) == 0:\n    torch.save(state, path)"
    yield Remedy(f"saving 1/{factor} as often", code, gain)
    low, expected, high = (share * spent for share in LIMITS.saved_shares)
    reason = "writing moves to the background; copying the state to host memory still blocks."
    code = "torch.distributed.checkpoint.async_save(state, checkpoint_id=path)"
    background = gain_from(total, (low, expected, high), Basis.MODELED, reason)
    yield Remedy("saving in the background", code, background)
