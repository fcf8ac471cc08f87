"""Find the worker that is slower than the others at the same steps, and the slow phase.

Workers that train together end their steps together: the fast ones wait for the slow one, inside of
the phases that exchange something. So a slow worker is known by what it does before it meets them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Slow:
    """A worker that is slower than the others."""

    worker: int
    phase: str  # in which it loses most
    excess: float  # seconds of a middle step
    share: float  # of the steps in which it is the slowest


def slowest(
    phases: Mapping[int, Mapping[str, FloatArray]],
    alone: Sequence[str],
    min_seconds: float,
    repeated_phases: Sequence[str] = (),
) -> Slow | None:
    """The slowest worker, if it is slow enough compared with the median of the others.

    Args:
        phases: Per worker and phase the seconds of the same steps.
        alone: Phases in which a worker does not wait for others.
        min_seconds: The least excess per step that counts.
        repeated_phases: Those of them whose excess occurs again in a phase that waits for others:
            a longer forward pass means a longer backward pass.
    """
    best: Slow | None = None
    for worker in phases:
        items = [item for rank, item in phases.items() if rank != worker]
        if not items:
            return None
        excess = {
            phase: phases[worker][phase] - np.median([rival[phase] for rival in items], axis=0)
            for phase in alone
            if phase in phases[worker] and all(phase in rival for rival in items)
        }
        if not excess:
            continue
        total = np.sum(list(excess.values()), axis=0)
        counted = total + np.sum(
            [excess[item] for item in repeated_phases if item in excess], axis=0
        )
        middle = float(np.median(total))
        phase = max(excess, key=lambda name: float(np.median(excess[name])))
        slow = Slow(worker, phase, middle, float((counted > min_seconds).mean()))
        is_enough = float(np.median(counted)) > min_seconds and middle > 0
        if is_enough and (best is None or middle > best.excess):
            best = slow
    return best
