"""Evaluations on held-out data: the step and the loss of each.

If a job has several series of evaluations, rules check one: `validation`, else `test`, else the
first name in alphabetical order. If evaluation results were not recorded, all evaluation batches
between two training steps form one evaluation.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sonde.read.curves import Curve
from sonde.read.evaluations import evaluations_in
from sonde.read.window import Window
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.evaluation import Evaluation
from sonde.rules._rule import State

_ORDER = ("validation", "test")
_SANITY_CHECK = "sanity check"  # a few batches before training


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """One evaluation, and the training losses before it."""

    step: int  # the training step at which it took place
    loss: float  # the mean over its samples
    trained: tuple[float, ...]  # training losses since the previous evaluation, in this window


def held_out_series(
    window: Window, state: State, regex: str | None = None
) -> tuple[Evaluation, ...] | None:
    """Return the evaluations of the selected series, or None if results were not recorded.

    Args:
        window: The window to read.
        state: Stores the name of the selected series.
        regex: Only series whose names match.
    """
    results = evaluations_in(window)
    state["has_results"] = state.get("has_results", False) or bool(results)
    if not state["has_results"]:
        return None
    held_out = [
        result
        for result in results
        if not (result.is_training_data or result.model or result.name == _SANITY_CHECK)
    ]
    names = [item.name for item in held_out if regex is None or re.search(regex, item.name)]
    if names and "series" not in state:
        state["series"] = min(names, key=_priority)
    return tuple(result for result in held_out if result.name == state.get("series"))


def training_data_evaluations(window: Window) -> tuple[Evaluation, ...]:
    """Return the evaluations of the trained model on its training data."""
    results = evaluations_in(window)
    return tuple(result for result in results if result.is_training_data and not result.model)


def evaluations(
    window: Window, state: State, regex: str | None = None
) -> tuple[list[EvaluationResult], list[float]]:
    """Return the evaluations of a window, and the training losses after the last one.

    Args:
        window: The window to read.
        state: Stores the name of the selected series.
        regex: Only losses, or series of evaluations, whose names match.
    """
    results = held_out_series(window, state, regex)
    if results is None or (regex is not None and "series" not in state):
        return _of_batches(window, regex)
    trained = _losses(window, "train", regex) or window.losses()
    losses = trained[0].values if trained else np.empty(0)
    steps = trained[0].steps if trained else np.empty(0, np.int64)
    result, begin = [], 0
    for evaluation in results:
        if evaluation.loss is not None and np.isfinite(evaluation.loss):
            end = int(np.searchsorted(steps, evaluation.step))
            before = _finite(losses[begin:end])
            result.append(EvaluationResult(evaluation.step, evaluation.loss, tuple(before)))
            begin = max(begin, end)
    return _latest_of_each_step(result), _finite(losses[begin:])


def _priority(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


def _latest_of_each_step(results: Iterable[EvaluationResult]) -> list[EvaluationResult]:
    """Keep only the latest of consecutive evaluations at the same step."""
    latest: list[EvaluationResult] = []
    for result in results:
        if latest and latest[-1].step == result.step:
            latest[-1] = replace(result, trained=latest[-1].trained)
        else:
            latest.append(result)
    return latest


def _losses(window: Window, mode: str, regex: str | None) -> Sequence[Curve]:
    if regex is None:
        return window.losses(mode)
    return [curve for curve in window.scalars("*", mode) if re.search(regex, curve.name)]


def _of_batches(window: Window, regex: str | None) -> tuple[list[EvaluationResult], list[float]]:
    """Group evaluation batches between two training steps into one evaluation each.

    Returns the same as `evaluations()`.
    """
    trained, evaluated = (_losses(window, mode, regex) for mode in ("train", "eval"))
    tables = window.steps()
    losses = trained[0].values if trained else np.empty(0)
    if not evaluated or not tables:
        return [], _finite(losses)
    steps, ends_ns = tables[0].steps, tables[0].ends_ns
    after = np.searchsorted(ends_ns, _times_ns(window, evaluated[0]), side="right")
    result, begin = [], 0
    for index in np.unique(after).tolist():
        step = int(steps[index - 1]) if index else (window.first_step or 0) - 1
        end = int(np.searchsorted(trained[0].steps, step, side="right")) if trained else 0
        batches = _finite(evaluated[0].values[after == index])
        if batches:
            mean = float(np.mean(batches))
            result.append(EvaluationResult(step, mean, tuple(_finite(losses[begin:end]))))
            begin = end
    return result, _finite(losses[begin:])


def _times_ns(window: Window, evaluated: Curve) -> IntArray:
    """Return when each loss was evaluated: the start of its step, if known.

    A device may deliver the value much later, after training has continued.
    """
    times_ns = evaluated.times_ns.copy()
    for table in window.steps("eval")[:1]:
        indices = np.minimum(np.searchsorted(table.steps, evaluated.steps), len(table.steps) - 1)
        is_known = table.steps[indices] == evaluated.steps
        times_ns[is_known] = table.starts_ns[indices[is_known]]
    return times_ns


def _finite(values: FloatArray) -> list[float]:
    result: list[float] = values[np.isfinite(values)].tolist()
    return result
