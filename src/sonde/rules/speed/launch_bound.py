"""LaunchBound: the device waits because the host launches its work too slowly."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from sonde.analyze.gaps import Cause, find_gaps
from sonde.analyze.launches import step_launches
from sonde.analyze.operations import Profile
from sonde.analyze.speedups import gain_from
from sonde.clock import NANOSECONDS
from sonde.formats import format_count, format_duration, format_factor, format_percent
from sonde.read.window import Window
from sonde.records.advice import Basis, Bottleneck, Gain, Improvement, Remedy, SpeedLimit
from sonde.records.finding import Finding, Severity
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.step_profiles import Pace, ProfileRule, device_name

_MEMORY = "gpu.memory_used_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LaunchBound.

    Chosen by hand on the recorded steps of an H200 (tests/golden) unless a comment says otherwise.
    """

    min_launches: int = 50  # per step; with fewer, something else takes the time
    min_launched_share: float = 0.5  # of the idle time that is not spent waiting for data
    min_speedup: float = 1.15  # if the host were no limit
    warning_speedup: float = 1.5
    certain_share: float = 0.5  # of the saved launches, at least
    graph_share: float = 0.1  # of the host's time remains with CUDA graphs
    max_batch_factor: int = 16


LIMITS = Calibration()


class LaunchBound(ProfileRule):
    """A GPU is idle because the host launches its kernels too slowly.

    Why it matters: The GPU waits for Python in every step. A faster GPU would not help.
    How it decides:
    - In a profiled step, the host launches 50 or more kernels one by one.
    - Kernels run for less than `threshold` percent of an unprofiled step, excluding waits for data.
    - At least half of the idle time follows a launch that came too late, and not a wait for data
      or a synchronization.
    - The GPU alone would take less than 87% of the time.
    What to do: Compile the model (`torch.compile`), record the step as CUDA graphs
    (`mode="reduce-overhead"`), or give each launch more work with a larger batch.
    """

    threshold: Percent = 70.0

    calibration = LIMITS
    explains = ("LowGPUUtilization", "BatchSize", "IdleGPU", "UnfusedOptimizer")

    def measure(self, profile: Profile) -> dict[str, Any] | None:
        """Count the launches of a step, and the idle time that late launches caused."""
        launches = step_launches(profile)
        if launches is None:
            return None
        idle_ns = dict.fromkeys(Cause, 0)
        for gap in find_gaps(profile).gaps:
            if gap.device == launches.device:
                idle_ns[gap.cause] += gap.duration_ns
        waited_ns = sum(idle_ns.values()) - idle_ns[Cause.DATA]
        late_share = idle_ns[Cause.HOST] / waited_ns if waited_ns else 0.0
        return {**asdict(launches), "late_share": late_share}

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the time of kernels with the time of a step."""
        host = pace.busy_seconds
        busy = min(measured["busy_ns"] / NANOSECONDS, host)
        measured["busy_percent"] = 100 * busy / host if host else 100.0
        is_late = measured["late_share"] >= LIMITS.min_launched_share
        is_slow = busy * LIMITS.min_speedup <= host and measured["busy_percent"] < self.threshold
        if measured["launches"] < LIMITS.min_launches or not (is_late and is_slow):
            return
        remedies = (
            *_compilation(measured, pace, host, busy),
            _larger_batch(host / busy, pace.batch_room or _memory_room(window, pace.worker)),
        )
        improvement = Improvement(Bottleneck.HOST, tuple(remedies), tuple(measured["operators"]))
        is_large = improvement.speedup >= LIMITS.warning_speedup
        count = format_count(measured["launches"])
        yield self.finding(
            f"{device_name(measured['device'])} is idle "
            f"{format_percent(100 - measured['busy_percent'])} of each step because the host "
            f"launches {count} kernels in {format_duration(host)}; they run for "
            f"{format_duration(busy)}.",
            severity=Severity.WARNING if is_large else Severity.INFO,
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=improvement,
            evidence={
                "launches": measured["launches"],
                "launches_after_fusion": measured["after_fusion"],
                "busy_percent": measured["busy_percent"],
                "step_seconds": pace.seconds,
                "seconds_per_step_to_win": host - busy,
            },
        )

    def limit(self, state: State) -> SpeedLimit | None:
        """How long the least busy device computes in a step."""
        measured = [worker.of("measured") for worker in state.of("workers").values()]
        known = [each for each in measured if "busy_percent" in each]
        if not known:
            return None
        least = min(known, key=lambda each: float(each["busy_percent"]))
        device, percent = device_name(least["device"]), float(least["busy_percent"])
        text = f"{device} computes {format_percent(percent)} of the time of each step."
        return SpeedLimit(percent, text)


def _compilation(measured: State, pace: Pace, host: float, busy: float) -> Iterator[Remedy]:
    """Yield the remedies that launch fewer kernels, with what they can save."""
    most = host - busy
    if not measured["is_compiled"]:
        kept = measured["after_fusion"] / measured["launches"]
        saved = min(most, host * (1 - kept))
        reason = (
            f"merging pointwise kernels leaves {format_count(measured['after_fusion'])} of "
            f"{format_count(measured['launches'])} launches, at the current time per launch; the "
            f"kernels alone take {format_duration(busy)}. Not measured on this job."
        )
        bounds = (LIMITS.certain_share * saved, saved, most)
        gain = gain_from(pace.seconds, bounds, Basis.MODELED, reason)
        yield Remedy("torch.compile", "model = torch.compile(model)", gain)
    saved = max(0.0, host - max(busy, LIMITS.graph_share * host))
    reason = (
        f"one launch replays the step, so the kernels ({format_duration(busy)}) set the pace. "
        "Shapes must not change between steps. Not measured on this job."
    )
    bounds = (LIMITS.certain_share * saved, saved, most)
    gain = gain_from(pace.seconds, bounds, Basis.MODELED, reason)
    code = 'model = torch.compile(model, mode="reduce-overhead")'
    yield Remedy("torch.compile with CUDA graphs", code, gain)


def _larger_batch(room: float, memory_room: float | None) -> Remedy:
    """The largest power of two by which a batch can grow until the device is the limit.

    Args:
        room: How often the device could do its work in the time of a step.
        memory_room: By how much a batch can grow in memory; None if unknown.
    """
    limit = min(room, LIMITS.max_batch_factor, room if memory_room is None else memory_room)
    factor = 1
    while 2 * factor <= limit:
        factor *= 2
    if factor == 1:
        return Remedy("a larger batch", "batch_size = …  # as much as memory allows")
    fits = "" if memory_room is None else f", and its memory for {format_factor(memory_room)}"
    reason = (
        f"the device has time for {factor} times the work per step{fits}. Counted in samples, if "
        "training stays stable with larger batches."
    )
    gain = Gain(float(factor), 1 + (factor - 1) / 2, float(factor), Basis.MODELED, reason)
    code = f"batch_size *= {factor}  # and scale the learning rate"
    return Remedy(f"a batch {factor} times as large", code, gain)


def _memory_room(window: Window, worker: int) -> float | None:
    """By how much a batch can grow if all memory grows with it; None if not measured."""
    node = window.attempt.node_of(worker)
    samples = [each for each in window.system(_MEMORY) if each.node == node]
    percents = [float(each.values.max()) for each in samples]
    return 100 / max(*percents, 1.0) if percents else None
