"""Evaluations between training steps: when each took place, and what loss it found."""

from dataclasses import dataclass

import numpy as np

from sonde.read.job_data import Reals
from sonde.read.window import Curve, Window
from sonde.read.workers import Numbers


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One evaluation: all its batches, between two training steps."""

    step: int  # the training step after which it took place
    loss: float  # the mean over its batches
    trained: tuple[float, ...]  # the training losses since the one before, in this window


def evaluations(window: Window) -> tuple[list[Evaluated], list[float]]:
    """The evaluations of a window in order, and the training losses after the last of them.

    An evaluation never lies in two windows: it belongs to that of the step that follows it.
    """
    trained, evaluated = window.losses(), window.losses("eval")
    tables = window.steps()
    losses = trained[0].values if trained else np.empty(0)
    if not evaluated or not tables:
        return [], _finite(losses)
    steps, ends_ns = tables[0].steps, tables[0].ends_ns
    after = np.searchsorted(ends_ns, _times_ns(window, evaluated[0]), side="right")
    found, begin = [], 0
    for place in np.unique(after).tolist():
        step = int(steps[place - 1]) if place else (window.first_step or 0) - 1
        end = int(np.searchsorted(trained[0].steps, step, side="right")) if trained else 0
        batches = _finite(evaluated[0].values[after == place])
        if batches:
            mean = float(np.mean(batches))
            found.append(Evaluated(step, mean, tuple(_finite(losses[begin:end]))))
            begin = end
    return found, _finite(losses[begin:])


def _times_ns(window: Window, evaluated: Curve) -> Numbers:
    """When each loss was evaluated: a device may tell it later, when training goes on already."""
    times_ns = evaluated.times_ns.copy()
    for table in window.steps("eval")[:1]:
        places = np.minimum(np.searchsorted(table.steps, evaluated.steps), len(table.steps) - 1)
        is_known = table.steps[places] == evaluated.steps
        times_ns[is_known] = table.starts_ns[places[is_known]]
    return times_ns


def _finite(values: Reals) -> list[float]:
    found: list[float] = values[np.isfinite(values)].tolist()
    return found
