"""DoublePrecision: a model is trained in float64."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.analyze.speedups import gain_from
from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.advice import PREDICTS, Basis, Bottleneck, Improvement, Remedy
from sonde.records.finding import Evidence, Finding, Severity
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

_WIDE = "float64"
_COMPUTING = (Phase.FORWARD.value, Phase.BACKWARD.value, Phase.OPTIMIZER.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of DoublePrecision, and how much less time float32 takes.

    float32 halves the bytes and doubles the width of vector instructions of a CPU. Small models
    are limited by the cost of each operator, which does not change.
    """

    min_steps: int = 20
    settling_steps: int = 10
    min_elements: int = 10_000  # of all float64 weights; below, operators cost more than numbers
    saved_shares: tuple[float, float, float] = (0.1, 0.45, 0.6)  # of the time of computing


LIMITS = Calibration()


class DoublePrecision(Rule):
    """A model is trained in float64.

    Why it matters: float64 takes twice the memory and at least twice the time of float32, and on
    most GPUs 32 to 64 times. Models rarely need it: often it comes from a NumPy array.
    How it decides:
    - More than `threshold` percent of the elements of all weights are float64, and at least 10,000.
    - Needs 20 training steps after the first 10.
    What to do: Convert the data (`torch.from_numpy(array).float()`) and the model
    (`model.float()`), and remove `torch.set_default_dtype(torch.float64)`.
    """

    threshold: Percent = 50.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int | None] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Look at the types of the recorded weights."""
        begin_attempt(window, state)
        sizes = {_WIDE: 0, "": 0}
        for info in window.data.members("weights").values():
            size = 1
            for length in info.shape:
                size *= length
            sizes[_WIDE if info.dtype.removeprefix("torch.") == _WIDE else ""] += size
        percent = 100 * sizes[_WIDE] / max(1, sum(sizes.values()))
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            is_usable = table.is_representative & (table.steps >= LIMITS.settling_steps)
            computing_ns = sum(table.phases_ns[name][is_usable].sum() for name in _COMPUTING)
            row = (is_usable.sum(), computing_ns, table.durations_ns[is_usable].sum())
            before = worker_state.get("sums", [0, 0, 0])
            sums = [int(old + new) for old, new in zip(before, row, strict=True)]
            worker_state["sums"] = sums
            is_wide = sizes[_WIDE] >= LIMITS.min_elements and percent > self.threshold
            if is_wide and sums[0] >= LIMITS.min_steps:
                step = int(table.steps[-1])
                yield self._finding(table.worker, step, percent, sums)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        steps = max((each.get("sums", [0])[0] for each in state.of("workers").values()), default=0)
        if steps >= LIMITS.min_steps:
            return ""
        return Shortfall(steps, LIMITS.min_steps, DataUnit.SETTLED_STEPS)

    def summary(self, state: State) -> Evidence:
        """That the rule predicts gains."""
        del state
        return {PREDICTS: True}

    def _finding(self, worker: int, step: int, percent: float, sums: list[int]) -> Finding:
        _, computing, total = (float(value) for value in sums)
        low, expected, high = (share * computing for share in LIMITS.saved_shares)
        reason = (
            f"computing takes {format_percent(100 * computing / max(total, 1.0))} of a step, and "
            "float32 usually takes about half as long on a CPU. On most GPUs the gain is larger."
        )
        gain = gain_from(total, (low, expected, high), Basis.TYPICAL, reason)
        code = "model = model.float()\ninputs = inputs.float()"
        return self.finding(
            f"{format_percent(percent)} of the weights of worker {worker} are float64.",
            step=step,
            worker=worker,
            subject=f"worker {worker}",
            severity=Severity.INFO,  # scientific models may need it
            improvement=Improvement(Bottleneck.PRECISION, (Remedy("float32", code, gain),)),
            evidence={"float64_percent": percent},
        )
