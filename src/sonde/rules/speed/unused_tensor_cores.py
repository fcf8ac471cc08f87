"""UnusedTensorCores: matrix products run in a precision that tensor cores do not compute fast."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.analyze.kernels import Precision
from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.advice import Bottleneck, Gain, Improvement, Remedy, best_first
from sonde.records.finding import Finding
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.device_rules import (
    DeviceWorkRule,
    faster_precision,
    faster_work,
    operators_of,
    severity_of,
)
from sonde.rules.measures.step_profiles import Pace


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of UnusedTensorCores, and how much faster matrix products become.

    Factors apply where the GPU or the FLOPs are unknown. They are far below the ratio of peak rates
    (7 for TF32 and 15 for bfloat16 on an H100): products of training are also limited by memory.
    Not measured on this project's machines.
    """

    min_busy_percent: float = 50.0  # of the step; an idle device does not need faster kernels
    to_tf32: tuple[float, float, float] = (1.5, 3.0, 6.0)
    float32_to_half: tuple[float, float, float] = (2.0, 4.0, 8.0)
    tf32_to_half: tuple[float, float, float] = (1.2, 1.7, 2.0)


LIMITS = Calibration()

_AUTOCAST = (
    'with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = loss_function(model(x), y)'
)
_TF32 = 'torch.set_float32_matmul_precision("high")'


class UnusedTensorCores(DeviceWorkRule):
    """Matrix products run in float32, although the GPU computes TF32 or bfloat16 much faster.

    Why it matters: Tensor cores have several times the throughput of the other cores.
    How it decides:
    - Matrix products, convolutions and attention in float32 or TF32 take more than `threshold`
      percent of the device's time in a profiled step. Kernel names show their precision.
    - The device is busy for at least half of an unprofiled step.
    What to do: Allow TF32 (`torch.set_float32_matmul_precision("high")`), or train in bfloat16 with
    `torch.autocast`. Compare the loss of the first steps with that in float32.
    """

    threshold: Percent = 20.0

    calibration = LIMITS

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the time of products in float32 with that of the step."""
        del window
        total_ns = max(measured["total_ns"], 1.0)
        spent = measured.of("by_precision")
        float32_ns, tf32_ns = spent[Precision.FLOAT32], spent[Precision.TF32]
        percent = 100 * (float32_ns + tf32_ns) / total_ns
        busy_percent = 100 * total_ns / 1e9 / max(pace.seconds, 1e-9)
        if percent <= self.threshold or busy_percent < LIMITS.min_busy_percent:
            return
        main = Precision.FLOAT32 if float32_ns >= tf32_ns else Precision.TF32
        remedies = best_first(tuple(_remedies(measured, pace, float32_ns, tf32_ns)))
        gain = remedies[0].gain
        if gain is None:
            return
        yield self.finding(
            f"{format_percent(percent)} of the device's time is spent on matrix products in "
            f"{main}.",
            severity=severity_of(gain),
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=Improvement(Bottleneck.PRECISION, remedies, operators_of(measured, main)),
            evidence={
                "float32_percent": 100 * float32_ns / total_ns,
                "tf32_percent": 100 * tf32_ns / total_ns,
                "step_seconds": pace.seconds,
            },
        )


def _remedies(measured: State, pace: Pace, float32_ns: float, tf32_ns: float) -> Iterator[Remedy]:
    shown = format_percent(100 * (float32_ns + tf32_ns) / max(measured["total_ns"], 1.0))
    is_float32 = float32_ns >= tf32_ns
    work_ns = float32_ns if is_float32 else tf32_ns
    factors = LIMITS.float32_to_half if is_float32 else LIMITS.tf32_to_half
    if is_float32:
        gain = _gain(measured, pace, work_ns, (Precision.TF32, LIMITS.to_tf32), shown)
        yield Remedy("TF32", _TF32, gain)
    gain = _gain(measured, pace, work_ns, (Precision.HALF, factors), shown)
    yield Remedy("bfloat16", _AUTOCAST, gain)


def _gain(
    measured: State,
    pace: Pace,
    work_ns: float,
    target: tuple[Precision, tuple[float, float, float]],
    shown: str,
) -> Gain:
    """From the rate of the GPU in a precision if that is known, else a typical factor."""
    precision, factors = target
    reason = f"these products take {shown} of the device's time"
    modeled = f"{reason}; their FLOPs at a usual share of the datasheet's rate. Not measured here."
    gain = faster_precision(measured, pace, work_ns, precision, modeled)
    typical = f"{reason}; typical factors. Not measured here."
    return gain or faster_work(measured, pace, work_ns, factors, typical)
