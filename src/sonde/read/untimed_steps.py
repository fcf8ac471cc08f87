"""Phases of steps of which only the end was seen, estimated from timed steps nearby.

In a loop of small steps the hook times the phases of a few steps only. What is unknown of the
others is divided as it was in the nearest timed step before, or after where there is none before.
So sums over many steps are right, and the phases of each step still add up to it.
"""

import numpy as np
import numpy.typing as npt

from sonde.read.workers import Marks, Numbers
from sonde.records.step import Phase

_BETWEEN = Phase.BETWEEN.value
_NOW_AND_THEN = (Phase.CHECKPOINT.value, Phase.EVALUATION.value)  # not a part of every step


def nearest_timed(is_timed: Marks) -> npt.NDArray[np.int64]:
    """The place of the timed step that stands for each step; its own place where there is none."""
    places = np.arange(len(is_timed))
    if is_timed.all() or not is_timed.any():
        return places
    before = np.maximum.accumulate(np.where(is_timed, places, -1))
    return np.where(before >= 0, before, int(np.argmax(is_timed)))


def with_estimates(phases_ns: dict[str, Numbers], is_timed: Marks) -> dict[str, Numbers]:
    """The phases of all steps, with the unknown time of untimed ones divided.

    Args:
        phases_ns: What is known of each step, and the rest of it in `between`.
        is_timed: Whether the phases of a step are known.
    """
    if is_timed.all() or not is_timed.any():
        return phases_ns
    nearest, untimed = nearest_timed(is_timed), np.flatnonzero(~is_timed)
    unknown = phases_ns[_BETWEEN][untimed].astype(np.float64)
    # a long wait for data is recorded with an untimed step: it is not estimated on top
    known = {name: one[untimed] for name, one in phases_ns.items() if name != _BETWEEN}
    model = {
        name: np.where(known[name] > 0, 0, one[nearest[untimed]])
        if name != _BETWEEN
        else one[nearest[untimed]]
        for name, one in phases_ns.items()
        if name not in _NOW_AND_THEN
    }
    total = np.maximum(np.sum(list(model.values()), axis=0), 1)
    found = {name: one.copy() for name, one in phases_ns.items()}
    left = unknown.astype(np.int64)
    for name, lengths in model.items():
        if name != _BETWEEN:
            share = (unknown * lengths / total).astype(np.int64)
            found[name][untimed] += share
            left -= share
    found[_BETWEEN][untimed] = left
    return found
