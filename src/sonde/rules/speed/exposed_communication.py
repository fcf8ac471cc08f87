"""ExposedCommunication: devices wait for collectives instead of computing meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sonde.analyze.breakdown import breakdowns
from sonde.analyze.operations import HOST, Profile
from sonde.analyze.speedups import gain_from
from sonde.formats import format_duration, format_percent
from sonde.read.window import Window
from sonde.records.advice import Basis, Bottleneck, Improvement, Remedy, best_first
from sonde.records.finding import Finding, Severity
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.step_profiles import Pace, ProfileRule


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ExposedCommunication, and which share of the exposed time disappears.

    Shares are assumptions: the last bucket of gradients never overlaps, and accumulating over 4
    micro-steps needs a quarter of the collectives. Not measured on this project's machines.
    """

    warning_speedup: float = 1.3
    overlapping_shares: tuple[float, float, float] = (0.0, 0.4, 0.8)
    micro_steps: int = 4


LIMITS = Calibration()

_OVERLAP = """DistributedDataParallel(
    model, gradient_as_bucket_view=True, static_graph=True, bucket_cap_mb=50
)
# FSDP: fully_shard(layer) for each layer, so that the next one is fetched in advance"""
_ACCUMULATE = """for micro_step, batch in enumerate(batches):
    with model.no_sync() if micro_step < 3 else nullcontext():
        loss_of(batch).backward()"""


class ExposedCommunication(ProfileRule):
    """Devices wait for collectives during a large part of each step.

    Why it matters: Communication that overlaps with computation costs nothing; the rest adds to
    every step of every GPU.
    How it decides:
    - In a profiled step, collectives run while no kernel computes for more than `threshold` percent
      of the device's time.
    What to do: Let gradients of one layer travel while the next layer computes (buckets of DDP, one
    FSDP unit per layer), or accumulate gradients over several batches.
    """

    threshold: Percent = 10.0

    calibration = LIMITS
    explains = ("LowGPUUtilization", "BatchSize")

    def measure(self, profile: Profile) -> dict[str, Any] | None:
        """Measure how long collectives run alone on the worst device."""
        devices = [each for each in breakdowns([profile]) if each.device != HOST]
        if not devices:
            return None
        worst = max(devices, key=lambda device: device.communication_exposed_ns)
        wall_ns = max(1, worst.wall_ns)
        return {
            "exposed_share": worst.communication_exposed_ns / wall_ns,
            "overlapped_share": worst.communication_overlapped_ns / wall_ns,
        }

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the exposed time with the step."""
        del window
        share = float(measured["exposed_share"])
        if 100 * share <= self.threshold:
            return
        seconds = share * pace.seconds
        remedies = best_first(tuple(_remedies(pace.seconds, seconds)))
        improvement = Improvement(Bottleneck.COMMUNICATION, remedies)
        is_large = improvement.speedup >= LIMITS.warning_speedup
        yield self.finding(
            f"Worker {pace.worker} waits for collectives for {format_percent(100 * share)} of each "
            f"step ({format_duration(seconds)}); "
            f"{format_percent(100 * measured['overlapped_share'])} overlap with computation.",
            severity=Severity.WARNING if is_large else Severity.INFO,
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=improvement,
            evidence={
                "exposed_percent": 100 * share,
                "overlapped_percent": 100 * measured["overlapped_share"],
            },
        )


def _remedies(total: float, exposed: float) -> Iterator[Remedy]:
    low, expected, high = (share * exposed for share in LIMITS.overlapping_shares)
    reason = (
        f"collectives alone take {format_duration(exposed)} per step; how much of it can overlap "
        "depends on the network and the model. Not measured on this job."
    )
    overlap = gain_from(total, (low, expected, high), Basis.MODELED, reason)
    yield Remedy("more overlap", _OVERLAP, overlap)
    saved = exposed * (1 - 1 / LIMITS.micro_steps)
    reason = (
        f"gradients are exchanged once in {LIMITS.micro_steps} batches. Counted in samples; the "
        "batch of an update grows as much."
    )
    rarer = gain_from(total, (saved / 2, saved, saved), Basis.MODELED, reason)
    yield Remedy("gradient accumulation", _ACCUMULATE, rarer)
