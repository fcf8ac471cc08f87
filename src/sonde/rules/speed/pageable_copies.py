"""PageableCopies: batches are copied to the device from pageable memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.analyze.speedups import gain_from
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.read.window import Window
from sonde.records.advice import Basis, Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.device_rules import DeviceWorkRule, operators_of, severity_of
from sonde.rules.measures.step_profiles import Pace


@dataclass(frozen=True, slots=True)
class Calibration:
    """Which share of the time of pageable copies disappears; not measured on these machines.

    Pinned memory is copied about twice as fast, and with `non_blocking=True` beside kernels.
    """

    saved_shares: tuple[float, float, float] = (0.4, 0.75, 1.0)


LIMITS = Calibration()


class PageableCopies(DeviceWorkRule):
    """Batches are copied to the GPU from pageable memory, and training waits for the copies.

    Why it matters: Such a copy is slow, blocks the host, and cannot overlap with kernels.
    How it decides:
    - In a profiled step, copies from pageable host memory take more than `threshold` percent of an
      unprofiled step.
    What to do: `DataLoader(…, pin_memory=True)` and `batch.to(device, non_blocking=True)`.
    """

    threshold: Percent = 3.0

    calibration = LIMITS

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the time of copies with that of the step."""
        del window
        seconds = measured["pageable_ns"] / NANOSECONDS
        percent = 100 * seconds / max(pace.seconds, 1e-9)
        if percent <= self.threshold:
            return
        low, expected, high = (share * seconds for share in LIMITS.saved_shares)
        reason = (
            f"these copies take {format_duration(seconds)} of {format_duration(pace.seconds)} per "
            "step; pinned ones are faster and overlap with kernels. Not measured on this job."
        )
        gain = gain_from(pace.seconds, (low, expected, high), Basis.MODELED, reason)
        code = "DataLoader(…, pin_memory=True)\nbatch = batch.to(device, non_blocking=True)"
        remedy = Remedy("pinned memory", code, gain)
        places = operators_of(measured, "pageable")
        yield self.finding(
            f"Copies from pageable memory to the device take {format_percent(percent)} of each "
            f"step ({format_duration(seconds)}).",
            severity=severity_of(gain),
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=Improvement(Bottleneck.COPIES, (remedy,), places),
            evidence={"copies": measured["copied"], "lost_percent": percent},
        )
