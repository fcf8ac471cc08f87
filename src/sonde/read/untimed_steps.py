"""Estimate the phases of untimed steps from timed steps nearby.

In a loop of short steps, the hook times the phases of only a few steps. The unknown time of other
steps is divided in the proportions of the nearest timed step before, or else after. So sums over
many steps are correct, and the phases of each step still add up to its duration.
"""

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import BoolArray, IntArray
from sonde.records.step import Phase

_BETWEEN = Phase.BETWEEN.value
_NOW_AND_THEN = (Phase.CHECKPOINT.value, Phase.EVALUATION.value)  # not in every step


def nearest_timed(is_timed: BoolArray) -> npt.NDArray[np.int64]:
    """The index of the timed step used for each step; its own index if no step is timed."""
    indices = np.arange(len(is_timed))
    if is_timed.all() or not is_timed.any():
        return indices
    before = np.maximum.accumulate(np.where(is_timed, indices, -1))
    return np.where(before >= 0, before, int(np.argmax(is_timed)))


def with_estimates(phases_ns: dict[str, IntArray], is_timed: BoolArray) -> dict[str, IntArray]:
    """The phases of all steps, with the unknown time of untimed steps divided.

    Args:
        phases_ns: The known phases of each step; unknown time is in `between`.
        is_timed: Whether the phases of a step were measured.
    """
    if is_timed.all() or not is_timed.any():
        return phases_ns
    nearest, untimed = nearest_timed(is_timed), np.flatnonzero(~is_timed)
    unknown = phases_ns[_BETWEEN][untimed].astype(np.float64)
    # long data waits are recorded for untimed steps, too: do not add an estimate
    measured = {name: column[untimed] for name, column in phases_ns.items() if name != _BETWEEN}
    model = {
        name: np.where(measured[name] > 0, 0, column[nearest[untimed]])
        if name != _BETWEEN
        else column[nearest[untimed]]
        for name, column in phases_ns.items()
        if name not in _NOW_AND_THEN
    }
    total = np.maximum(np.sum(list(model.values()), axis=0), 1)
    estimated = {name: column.copy() for name, column in phases_ns.items()}
    remaining = unknown.astype(np.int64)
    for name, lengths in model.items():
        if name != _BETWEEN:
            share = (unknown * lengths / total).astype(np.int64)
            estimated[name][untimed] += share
            remaining -= share
    estimated[_BETWEEN][untimed] = remaining
    return estimated
