"""OddDimensions: matrix products whose dimensions tensor cores handle badly."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.advice import Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.device_rules import (
    DeviceWorkRule,
    faster_work,
    operators_of,
    severity_of,
)
from sonde.rules.measures.step_profiles import Pace


@dataclass(frozen=True, slots=True)
class Calibration:
    """How much faster aligned products are.

    A typical factor, not measured on these machines.
    """

    factors: tuple[float, float, float] = (1.1, 1.5, 3.0)


LIMITS = Calibration()


class OddDimensions(DeviceWorkRule):
    """Matrix products in half precision have dimensions that are not multiples of 8.

    Why it matters: Tensor cores load 16 bytes at once. Other dimensions need slower kernels.
    How it decides:
    - In a profiled step, products in half precision whose kernels are made for unaligned data
      (`align1` or `align2` in the name) take more than `threshold` percent of the device's time.
    What to do: Pad the dimension to a multiple of 8, usually the vocabulary or the number of
    classes: 50,304 instead of 50,257.
    """

    threshold: Percent = 5.0

    calibration = LIMITS

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the time of unaligned products with that of all kernels."""
        del window
        percent = 100 * measured["unaligned_ns"] / max(measured["total_ns"], 1.0)
        if percent <= self.threshold:
            return
        reason = (
            f"unaligned products take {format_percent(percent)} of the device's time; a typical "
            "factor. Not measured here."
        )
        gain = faster_work(measured, pace, measured["unaligned_ns"], LIMITS.factors, reason)
        code = "size = 8 * math.ceil(size / 8)  # of the vocabulary or a layer"
        remedy = Remedy("dimensions in multiples of 8", code, gain)
        places = operators_of(measured, "unaligned")
        yield self.finding(
            f"{format_percent(percent)} of the device's time is spent on matrix products with "
            "dimensions that are not multiples of 8.",
            severity=severity_of(gain),
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=Improvement(Bottleneck.DIMENSIONS, (remedy,), places),
            evidence={"unaligned_percent": percent},
        )
