"""HostSynchronization: the training loop makes the host wait for the device."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sonde.analyze.gaps import Synchronization, find_gaps, merge_synchronizations
from sonde.analyze.launches import step_launches
from sonde.analyze.operations import Profile
from sonde.analyze.speedups import gain_from
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.window import Window
from sonde.records.advice import Basis, Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding, Severity
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.step_profiles import Pace, ProfileRule, device_name


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of HostSynchronization.

    Chosen by hand unless a comment says otherwise.
    """

    min_speedup: float = 1.05
    warning_speedup: float = 1.3
    min_idle_percent: float = 5.0  # of the profiled step, after synchronizations
    max_places: int = 5


LIMITS = Calibration()

_CODE = """total += loss.detach()  # stays on the GPU
if step % 50 == 0:
    print(total.item())"""

# what a script calls, by the operator that waits
_CALLS: Mapping[str, str] = {
    "aten::item": "`.item()`, `float()` or `if tensor:`",
    "aten::_local_scalar_dense": "`.item()`, `float()` or `if tensor:`",
    "aten::is_nonzero": "`if tensor:`",
    "aten::nonzero": "`nonzero()` or indexing with a mask",
    "aten::index": "indexing with a mask",
    "aten::masked_select": "`masked_select()`",
    "aten::unique": "`unique()`",
    "aten::_unique2": "`unique()`",
    "aten::to": "`.cpu()`, `.numpy()` or `print()`",
    "aten::_to_copy": "`.cpu()`, `.numpy()` or `print()`",
    "aten::copy_": "a blocking copy",
    "cudaDeviceSynchronize": "`torch.cuda.synchronize()`",
    "cudaStreamSynchronize": "a synchronization of a stream",
    "cudaEventSynchronize": "a synchronization of an event",
    "cudaFree": "freeing memory (`torch.cuda.empty_cache()`)",
}


class HostSynchronization(ProfileRule):
    """The training loop makes the host wait for the GPU, which leaves the GPU idle afterward.

    Why it matters: While the host waits, it launches nothing, and the GPU runs out of work.
    How it decides:
    - In a profiled step, calls such as `.item()` block the host, and the GPU is idle after them for
      more than 5% of the step.
    - Without the time that the host is blocked, the step would be 1.05 times as fast or more. The
      time that kernels run is the lower limit of a step.
    What to do: Keep values on the GPU (`loss.detach()`), and read them every N steps. Replace
    `if tensor:` and masks by `torch.where`. Use `non_blocking=True` for copies.
    """

    threshold: Percent = 5.0

    calibration = LIMITS
    explains = ("LowGPUUtilization", "BatchSize")

    def measure(self, profile: Profile) -> dict[str, Any] | None:
        """Find the calls that block the host, and the idle time after them."""
        launches = step_launches(profile)
        if launches is None:
            return None
        idle = find_gaps(profile)
        places = merge_synchronizations(idle.synchronizations)
        wall_ns = max(1, profile.wall_ns)
        return {
            "device": launches.device,
            "busy_ns": launches.busy_ns,
            "blocked_share": sum(place.blocked_ns for place in places) / wall_ns,
            "idle_share": sum(place.idle_ns for place in places) / wall_ns,
            "calls": sum(place.calls for place in places) / max(1, profile.steps),
            "places": [_text(place) for place in places[: LIMITS.max_places]],
        }

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the step with one in which the host is never blocked."""
        del window
        total = pace.busy_seconds
        busy = min(measured["busy_ns"] / NANOSECONDS, total)
        blocked, idle = (total * measured[name] for name in ("blocked_share", "idle_share"))
        # without blocking, the slower one of host and device sets the pace
        saved = total - max(busy, total - blocked)
        is_idle = 100 * measured["idle_share"] > self.threshold
        if not is_idle or pace.seconds < LIMITS.min_speedup * (pace.seconds - saved):
            return
        reason = (
            f"the host is blocked for {format_duration(blocked)} per step, and kernels take "
            f"{format_duration(busy)}. Not measured on this job."
        )
        bounds = (min(idle, saved) / 2, min(idle, saved), saved)
        gain = gain_from(pace.seconds, bounds, Basis.MODELED, reason)
        remedy = Remedy("reading values every 50 steps", _CODE, gain)
        places = tuple(measured["places"])
        is_large = gain.speedup >= LIMITS.warning_speedup
        yield self.finding(
            f"{device_name(measured['device'])} is idle {format_percent(100 * idle / total)} of "
            f"each step after {pluralize(round(measured['calls'], 1), 'synchronization')} of the "
            f"host, such as {places[0]}.",
            severity=Severity.WARNING if is_large else Severity.INFO,
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=Improvement(Bottleneck.SYNCHRONIZATION, (remedy,), places),
            evidence={
                "synchronizations": measured["calls"],
                "blocked_percent": 100 * measured["blocked_share"],
                "idle_percent": 100 * measured["idle_share"],
                "seconds_per_step_to_win": saved,
                "places": list(places),
            },
        )


def _text(place: Synchronization) -> str:
    """A place as the script's author knows it: the line, or the call and its phase."""
    call = _CALLS.get(place.operator) or _CALLS.get(place.call) or place.operator
    if place.line:
        return f"{call} in {place.line}"
    return f"{call} in phase {place.phase}" if place.phase else call
