"""UnfusedOptimizer: the optimizer updates parameters one by one."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sonde.analyze.operations import Profile
from sonde.analyze.speedups import gain_from
from sonde.formats import format_duration, format_percent
from sonde.read.window import Window
from sonde.records.advice import Basis, Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding, Severity
from sonde.records.need import Need, Operations, Steps
from sonde.records.step import Phase
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.step_profiles import Pace, ProfileRule

_FUSED = re.compile(r"aten::_(fused|foreach)_")
_STEP = re.compile(r"Optimizer\.step#(?P<name>\w+)\.step")
# operators of updates, by optimizers that have a fused implementation
_UPDATES: Mapping[str, tuple[str, ...]] = {
    "Adam": ("aten::addcdiv_", "aten::addcmul_", "aten::lerp_"),
    "AdamW": ("aten::addcdiv_", "aten::addcmul_", "aten::lerp_"),
    "SGD": ("aten::add_",),
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of UnfusedOptimizer, and which share of its time a fused one saves.

    CPU time of torch 2.13 with one thread: AdamW saved 68 to 90%, SGD 12 to 39% of its time, for 4
    to 20 layers of 64 to 1,024 units. GPUs use foreach operators by default, which count as fused.
    """

    min_updates: int = 8  # parameters that are updated one by one, per step
    min_speedup: float = 1.05
    adam_shares: tuple[float, float, float] = (0.5, 0.7, 0.9)
    sgd_shares: tuple[float, float, float] = (0.05, 0.25, 0.4)


LIMITS = Calibration()


class UnfusedOptimizer(ProfileRule):
    """The optimizer updates parameters one by one, although a fused update exists.

    Why it matters: Each parameter needs several small operations, which read and write its values
    again and again.
    How it decides:
    - In a profiled step, SGD, Adam or AdamW updates 8 or more parameters with separate operators,
      and neither with fused nor with foreach ones.
    - The optimizer takes more than `threshold` percent of an unprofiled step.
    What to do: Pass `fused=True` to the optimizer.
    """

    threshold: Percent = 10.0

    calibration = LIMITS
    needs: ClassVar[tuple[Need, ...]] = (Steps(), Operations("operator"))
    needs_gpu: ClassVar[bool] = False
    judged: ClassVar[str] = "operators"

    def measure(self, profile: Profile) -> dict[str, Any] | None:
        """Count the updates of single parameters."""
        names = profile.operations.names
        steps = [match["name"] for text in names.distinct if (match := _STEP.search(text))]
        if not steps:
            return None
        name = steps[0]
        is_fused = names.where(lambda text: _FUSED.match(text) is not None).any()
        inside = names.where(lambda text: _STEP.search(text) is not None)
        updates = profile.operations.is_operator & names.is_in(_UPDATES.get(name, ()))
        starts = profile.operations.starts_ns[updates]
        count = 0
        for row in np.flatnonzero(inside).tolist():
            first_ns, last_ns = profile.operations.starts_ns[row], profile.operations.ends_ns[row]
            count += int(((starts >= first_ns) & (starts < last_ns)).sum())
        per_parameter = max(1, len(_UPDATES.get(name, ())))
        updated = 0.0 if is_fused else count / per_parameter / max(1, profile.steps)
        return {"name": name, "updated": updated}

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the time of the optimizer with that of the step."""
        del window
        spent = pace.phases.get(Phase.OPTIMIZER.value, 0.0)
        percent = 100 * spent / max(pace.seconds, 1e-9)
        if measured["updated"] < LIMITS.min_updates or percent <= self.threshold:
            return
        name = measured["name"]
        shares = LIMITS.sgd_shares if name == "SGD" else LIMITS.adam_shares
        low, expected, high = (share * spent for share in shares)
        usual = format_percent(100 * shares[1])
        reason = (
            f"the optimizer takes {format_duration(spent)} of {format_duration(pace.seconds)} per "
            f"step; on a CPU, a fused {name} saved about {usual} of that."
        )
        gain = gain_from(pace.seconds, (low, expected, high), Basis.TYPICAL, reason)
        if gain.speedup < LIMITS.min_speedup:
            return
        code = f"torch.optim.{name}(model.parameters(), …, fused=True)"
        yield self.finding(
            f"{name} updates about {round(measured['updated'])} parameters one by one, which takes "
            f"{format_percent(percent)} of each step ({format_duration(spent)}).",
            severity=Severity.INFO,  # the default of an optimizer is no fault
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=Improvement(Bottleneck.OPTIMIZER, (Remedy(f"fused {name}", code, gain),)),
            evidence={"optimizer_percent": percent, "updates": measured["updated"]},
        )
