"""Find the worker that is slower than the others in the same steps, and its slow phase.

Workers that train together end their steps together, because fast workers wait for slow ones in
phases with communication. So only phases without communication are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class SlowWorker:
    """A worker that is slower than the others, and its slow phase."""

    worker: int
    phase: str  # the phase with the largest excess
    excess: float  # median excess per step, in seconds
    share: float  # share of steps with a significant excess


def slowest_worker(
    phases: Mapping[int, Mapping[str, FloatArray]],
    alone: Sequence[str],
    min_seconds: float,
    repeated_phases: Sequence[str] = (),
) -> SlowWorker | None:
    """Return the worker that is slowest compared with the median of the others, or None.

    Args:
        phases: Seconds of the same steps, per worker and phase.
        alone: Phases in which workers do not wait for each other.
        min_seconds: Minimum excess per step.
        repeated_phases: Those of these phases whose excess counts twice, because it recurs in a
            phase with communication: a longer forward pass means a longer backward pass.
    """
    result: SlowWorker | None = None
    for worker in phases:
        others = [seconds for rank, seconds in phases.items() if rank != worker]
        if not others:
            return None
        excess = {
            phase: phases[worker][phase] - np.median([other[phase] for other in others], axis=0)
            for phase in alone
            if phase in phases[worker] and all(phase in other for other in others)
        }
        if not excess:
            continue
        total = np.sum(list(excess.values()), axis=0)
        counted = total + np.sum(
            [excess[phase] for phase in repeated_phases if phase in excess], axis=0
        )
        median = float(np.median(total))
        phase = max(excess, key=lambda name: float(np.median(excess[name])))
        candidate = SlowWorker(worker, phase, median, float((counted > min_seconds).mean()))
        is_slow = float(np.median(counted)) > min_seconds and median > 0
        if is_slow and (result is None or median > result.excess):
            result = candidate
    return result
