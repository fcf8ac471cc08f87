"""LowPrecisionOverflow: numbers come to the end of what their data type can hold."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import longest_run
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Scalars, Steps
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_SETTLING_STEPS = 50  # a scaler begins too high on purpose, and comes down by skipping
_RECENT = 200  # steps
_LEAST_SKIPPED = 10
_STUCK = 50  # skipped steps in a row: the scale has nowhere to go
_LARGEST = {"float16": 65504.0}
_COLLECTIONS = ("weights", "gradients", "activations", "outputs")


class LowPrecisionOverflow(Rule):
    """The gradient scaler skips steps too often, or values come near the limit of their type.

    Why it matters: a skipped step is work for nothing, and a value beyond the limit is infinite:
    the next step makes everything else so.
    How it decides: after the first 50 steps, in which a scaler finds its scale, more than
    `skipped_percent` of 200 steps are skipped (one in two thousand is usual), or 50 in a row; or a
    value of a half-precision tensor is above `limit_percent` of the largest there is.
    What to do: use bfloat16 if the device has it; look for the layer with large values, normalize
    before it, keep its sums and the loss in single precision; clip gradients after unscaling.
    """

    skipped_percent: Percent = 10.0
    limit_percent: Percent = 50.0

    needs = (Steps(), Scalars("loss_scale"))
    window_steps: ClassVar[int] = 50
    explains: ClassVar[tuple[str, ...]] = ("ExplodingTensor", "ParameterNotUpdated")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Counts skipped steps, and looks at the largest values."""
        begin_leg(window, state)
        scales = window.scalars("loss_scale")
        for table in window.steps():
            own = state.of("workers", table.worker)
            if scales or table.is_skipped.any():
                state["is_scaled"] = True
            scale = float(scales[0].values[-1]) if scales else None
            yield from self._skipped(table, scale, own)
        yield from self._near_the_limit(window, state)

    def unfit(self, state: State) -> str:
        """Trainings in full precision."""
        is_half = state.get("is_scaled") or state.get("is_half")
        return "" if is_half else "no gradient scaler, and no tensor in half precision"

    def _skipped(self, table: StepTable, scale: float | None, state: State) -> Iterator[Finding]:
        is_late = table.steps >= _SETTLING_STEPS
        marks = np.append(np.array(state.get("skipped", []), np.bool_), table.is_skipped[is_late])
        marks = marks[-_RECENT:]
        state["skipped"] = marks.astype(int).tolist()
        count = int(marks.sum())
        in_a_row = longest_run(marks)[1] if marks.any() else 0
        percent = 100 * count / max(1, len(marks))
        is_often = len(marks) >= _RECENT and percent > self.skipped_percent
        if in_a_row < _STUCK and not (is_often and count >= _LEAST_SKIPPED):
            return
        said = "" if scale is None else f" The loss scale is {scale:.3g}."
        is_stuck = in_a_row >= _STUCK and bool(marks[-_STUCK:].all())
        yield self.finding(
            f"The gradient scaler skipped {count} of the last {len(marks)} steps of worker "
            f"{table.worker}, {in_a_row} of them in a row.{said}",
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
                largest = _LARGEST.get(tensor.info.dtype) if tensor.info is not None else None
                if largest is None:
                    continue
                state["is_half"] = True
                values = tensor.values("abs_max")
                place = int(np.nan_to_num(values).argmax())
                percent = 100 * float(values[place]) / largest
                if percent > self.limit_percent:
                    yield self.finding(
                        f"{tensor.name} reached {values[place]:.4g} at step "
                        f"{tensor.steps[place]}: {percent:.0f} % of what float16 can hold.",
                        step=int(tensor.steps[place]),
                        tensor=tensor.name,
                        evidence={"largest": float(values[place]), "limit": largest},
                    )
