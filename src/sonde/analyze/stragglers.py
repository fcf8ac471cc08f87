"""Who is slower than the others at the same steps, and where it loses the time.

Workers that train together end their steps together: the fast ones wait for the slow one, inside of
the phases that exchange something. So a slow worker is known by what it does before it meets them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Slow:
    """A worker that is slower than the others."""

    worker: int
    phase: str  # in which it loses most
    excess: float  # seconds of a middle step
    share: float  # of the steps in which it is the slowest


def slowest(
    phases: Mapping[int, Mapping[str, Reals]],
    alone: Sequence[str],
    least: float,
    again: Sequence[str] = (),
) -> Slow | None:
    """The slowest worker, if it loses enough against the middle of the others.

    Args:
        phases: Per worker and phase the seconds of the same steps.
        alone: Phases in which a worker waits for nobody.
        least: Seconds of a step that are worth speaking of.
        again: Those of them whose loss comes at least once more, in a phase in which others wait:
            what is longer in the forward pass is so in the backward pass.
    """
    best: Slow | None = None
    for worker in phases:
        others = [one for rank, one in phases.items() if rank != worker]
        if not others:
            return None
        excess = {
            phase: phases[worker][phase] - np.median([one[phase] for one in others], axis=0)
            for phase in alone
            if phase in phases[worker] and all(phase in one for one in others)
        }
        if not excess:
            continue
        total = np.sum(list(excess.values()), axis=0)
        counted = total + np.sum([excess[one] for one in again if one in excess], axis=0)
        middle = float(np.median(total))
        phase = max(excess, key=lambda one: float(np.median(excess[one])))
        found = Slow(worker, phase, middle, float((counted > least).mean()))
        is_enough = float(np.median(counted)) > least and middle > 0
        if is_enough and (best is None or middle > best.excess):
            best = found
    return best
