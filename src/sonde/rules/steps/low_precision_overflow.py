"""LowPrecisionOverflow: values approach or exceed the range of their data type."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import longest_run
from sonde.formats import format_percent
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Scalars, Steps
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

_MAX_VALUES = {"float16": 65504.0}
_COLLECTIONS = ("weights", "gradients", "activations", "outputs")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LowPrecisionOverflow.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 50  # a scaler starts too high and skips steps until its scale fits
    window_steps: int = 200
    min_skipped: int = 10
    stuck_steps: int = 50  # skipped in a row; lowering the scale does not help


LIMITS = Calibration()


class LowPrecisionOverflow(Rule):
    """The gradient scaler skips too many steps, or values approach the limit of their type.

    Why it matters: A skipped step is wasted work. A value beyond the limit becomes infinite, and
    the next step spreads it to everything else.
    How it decides:
    - More than `skipped_percent` of 200 steps are skipped (one in two thousand is typical), or 50
      in a row. The first 50 steps, in which a scaler finds its scale, do not count.
    - Or a float16 weight, gradient, activation or output exceeds `limit_percent` of the largest
      float16 value.
    - Critical if the last 50 steps were all skipped. Not applied without a gradient scaler or
      float16 tensors.
    What to do: Use bfloat16 if the device supports it. Find the layer with large values, normalize
    before it, and keep its sums and the loss in float32. Clip gradients after unscaling.
    """

    skipped_percent: Percent = 10.0
    limit_percent: Percent = 50.0

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Steps(), Scalars("loss_scale"))
    window_steps: ClassVar[int] = 50
    explains: ClassVar[tuple[str, ...]] = ("ExplodingTensor", "ParameterNotUpdated")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Count skipped steps and check the largest values."""
        begin_attempt(window, state)
        scales = window.scalars("loss_scale")
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            if scales or table.is_skipped.any():
                state["is_scaled"] = True
            scale = float(scales[0].values[-1]) if scales else None
            yield from self._skipped(table, scale, worker_state)
        yield from self._near_the_limit(window, state)

    def unfit(self, state: State) -> str:
        """Training in full precision."""
        is_half = state.get("is_scaled") or state.get("is_half")
        return "" if is_half else "no gradient scaler and no float16 tensor"

    def _skipped(self, table: StepTable, scale: float | None, state: State) -> Iterator[Finding]:
        is_late = table.steps >= LIMITS.settling_steps
        marks = np.append(np.array(state.get("skipped", []), np.bool_), table.is_skipped[is_late])
        marks = marks[-LIMITS.window_steps :]
        state["skipped"] = marks.astype(int).tolist()
        count = int(marks.sum())
        in_a_row = longest_run(marks)[1] if marks.any() else 0
        percent = 100 * count / max(1, len(marks))
        is_often = len(marks) >= LIMITS.window_steps and percent > self.skipped_percent
        if in_a_row < LIMITS.stuck_steps and not (is_often and count >= LIMITS.min_skipped):
            return
        text = "" if scale is None else f" The loss scale is {scale:.3g}."
        is_stuck = in_a_row >= LIMITS.stuck_steps and bool(marks[-LIMITS.stuck_steps :].all())
        yield self.finding(
            f"The gradient scaler skipped {count} of the last {len(marks)} steps of worker "
            f"{table.worker}, up to {in_a_row} in a row.{text}",
            severity=Severity.CRITICAL if is_stuck else Severity.WARNING,
            worker=table.worker,
            subject=f"skipped/{table.worker}",
            evidence={
                "skipped": count,
                "of": len(marks),
                "in_a_row": in_a_row,
                "loss_scale": scale,
                "lost_percent": percent,
            },
        )

    def _near_the_limit(self, window: Window, state: State) -> Iterator[Finding]:
        for collection in _COLLECTIONS:
            for tensor in window.tensors(collection):
                largest = _MAX_VALUES.get(tensor.info.dtype) if tensor.info is not None else None
                if largest is None:
                    continue
                state["is_half"] = True
                values = tensor.values("abs_max")
                index = int(np.nan_to_num(values).argmax())
                percent = 100 * float(values[index]) / largest
                if percent > self.limit_percent:
                    yield self.finding(
                        f"{tensor.name} reached {values[index]:.4g} at step "
                        f"{tensor.steps[index]}: {format_percent(percent)} of the float16 range.",
                        step=int(tensor.steps[index]),
                        tensor=tensor.name,
                        evidence={"largest": float(values[index]), "limit": largest},
                    )
