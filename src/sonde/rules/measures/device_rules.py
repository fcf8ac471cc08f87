"""Rules that judge how much of the device's time one kind of work takes."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sonde.analyze.device_work import device_work
from sonde.analyze.kernels import Precision
from sonde.analyze.operations import Profile
from sonde.analyze.peak_rates import peak_rate
from sonde.analyze.speedups import gain_from
from sonde.clock import NANOSECONDS
from sonde.records.advice import Basis, Gain
from sonde.records.finding import Severity
from sonde.rules._rule import State
from sonde.rules.measures.step_profiles import Pace, ProfileRule


@dataclass(frozen=True, slots=True)
class Calibration:
    """How severe findings about work on the device are.

    Chosen by hand unless a comment says otherwise.
    """

    warning_speedup: float = 1.3
    # of the datasheet's rate; products of GPT-2 (124M) on an H200 reach 74% in bfloat16, its
    # attention 40%, both together 66% (tests/golden)
    peak_shares: tuple[float, float, float] = (0.3, 0.6, 0.75)


LIMITS = Calibration()


class DeviceWorkRule(ProfileRule):
    """Base class of rules that compare one kind of work with the time of a step."""

    explains: ClassVar[tuple[str, ...]] = ()

    def measure(self, profile: Profile) -> dict[str, Any] | None:
        """Add up the device's time by kind of work."""
        work = device_work(profile)
        return None if work is None else {**asdict(work), "flops": profile.flops}


def faster_work(
    measured: State, pace: Pace, work_ns: float, factors: tuple[float, float, float], reason: str
) -> Gain:
    """The gain if one kind of work on the device becomes faster by a typical factor.

    A device that waits for the host anyway gains nothing until the time it saves exceeds the time
    it waits. At best, its idle time shrinks as well.

    Args:
        measured: The device's time by kind of work.
        pace: The pace of unprofiled steps.
        work_ns: The time of the work in a step.
        factors: The lowest, typical and highest speed-up of the work itself.
        reason: How it was predicted.
    """
    total, busy = pace.seconds, min(measured["total_ns"] / NANOSECONDS, pace.busy_seconds)
    share = busy / total if total else 0.0
    low, typical, high = (work_ns / NANOSECONDS * (1 - 1 / factor) for factor in factors)
    idle = pace.busy_seconds - busy
    saved = (max(0.0, low - idle), typical * share, high)
    return gain_from(total, saved, Basis.TYPICAL, reason)


def faster_precision(
    measured: State, pace: Pace, work_ns: float, precision: Precision, reason: str
) -> Gain | None:
    """The gain if matrix products are computed in a faster precision.

    Computed from the FLOPs of the products and the rate of the GPU in that precision. None if
    either is unknown.

    Args:
        measured: The device's time by kind of work.
        pace: The pace of unprofiled steps.
        work_ns: The time of the products in a step.
        precision: The precision to compute in.
        reason: How it was predicted.
    """
    peak = peak_rate(pace.device_name, precision)
    products_ns = sum(measured.of("by_precision").values())
    if peak is None or not measured.get("flops") or not products_ns:
        return None
    flops, work = measured["flops"] * work_ns / products_ns, work_ns / NANOSECONDS
    low, typical, high = (max(0.0, work - flops / (share * peak)) for share in LIMITS.peak_shares)
    total, busy = pace.seconds, min(measured["total_ns"] / NANOSECONDS, pace.busy_seconds)
    idle, share = pace.busy_seconds - busy, busy / total if total else 0.0
    saved = (max(0.0, low - idle), typical * share, high)
    return gain_from(total, saved, Basis.MODELED, reason)


def severity_of(gain: Gain) -> Severity:
    """A warning if the expected gain is large."""
    return Severity.WARNING if gain.speedup >= LIMITS.warning_speedup else Severity.INFO


def operators_of(measured: State, kind: str) -> tuple[str, ...]:
    """The operators that launch a kind of work."""
    return tuple(map(str, measured.of("operators").get(kind, ())))
