"""What kind of training a job does, and when its loss becomes another quantity."""

from dataclasses import dataclass

import numpy as np

from sonde.read.curves import Curve
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.step import Phase
from sonde.rules._rule import State

# the first step of each optimizer, and of each operation that computes the loss
RESTARTS = (
    Observations(ObservationKind.NEW_OPTIMIZER.value),
    Observations(ObservationKind.LOSS_KIND.value),
)
INPUT_SIZES = Observations(ObservationKind.INPUT_SIZE.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds that distinguish reinforcement learning from supervised training.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    evaluating_share: float = 0.5  # of the steps contain an evaluation: an agent is acting
    min_gaps: int = 6  # between steps that contain an evaluation
    max_mean_gap_steps: float = 10.0  # between steps that contain an evaluation
    even_share: float = 0.6  # of equal gaps: a supervised loop evaluates every N steps
    # forward passes without a backward pass, if some steps have rollouts
    acting_passes_per_step: float = 1.0
    # forward passes without a backward pass; teachers and critics have one or two
    rollout_passes: int = 8


LIMITS = Calibration()


def begin_attempt(window: Window, state: State) -> None:
    """Clear the state if the workers have restarted: repeated steps may give other values."""
    if state.get("attempt") != window.attempt.number:
        state.clear()
        state["attempt"] = window.attempt.number


def is_reinforcement_learning(window: Window) -> bool:
    """Whether an agent acts between training steps.

    Either most steps contain an evaluation, or some do at irregular intervals. Or there are
    rollouts: many forward passes without a backward pass, on average at least one per step. The
    inputs then depend on the model itself, so losses rise and jump as it learns.
    """
    tables = window.steps()
    if not tables:
        return False
    table = tables[0]
    if not table.passes.any():  # boosted trees, which may be evaluated in every round
        return False
    has_evaluation = table.phases_ns[Phase.EVALUATION.value] > 0
    if float(has_evaluation.mean()) > LIMITS.evaluating_share or _is_irregular(
        np.flatnonzero(has_evaluation)
    ):
        return True
    acts = np.maximum(table.passes - table.micro_steps, 0)
    return bool(has_rollout(table).any() and acts.mean() >= LIMITS.acting_passes_per_step)


def _is_irregular(steps: IntArray) -> bool:
    """Whether steps are frequent, but not a constant number of steps apart."""
    gaps = np.diff(steps)
    if len(gaps) < LIMITS.min_gaps or float(gaps.mean()) > LIMITS.max_mean_gap_steps:
        return False
    return int(np.bincount(gaps).max()) < LIMITS.even_share * len(gaps)


def has_rollout(table: StepTable) -> BoolArray:
    """Return which steps contain many forward passes without a backward pass."""
    return np.asarray(table.passes - table.micro_steps >= LIMITS.rollout_passes)


def was_reinforcement_learning(window: Window, state: State) -> bool:
    """Whether an agent has acted in this window or an earlier one."""
    state["plays"] = bool(state.get("plays")) or is_reinforcement_learning(window)
    return bool(state["plays"])


def single_loss(window: Window, state: State, explanation: str) -> Curve | None:
    """Return the training loss, or None for alternating losses and reinforcement learning.

    Args:
        window: The window to read.
        state: Stores the reason as `unfit`, which also applies to later windows.
        explanation: Why the rule does not apply to reinforcement learning.
    """
    curves = window.losses()
    if len(curves) > 1:
        state["unfit"] = "alternating losses influence each other"
    if is_reinforcement_learning(window):
        state["unfit"] = f"reinforcement learning: {explanation}"
    return curves[0] if len(curves) == 1 and "unfit" not in state else None


def latest_restart(window: Window, state: State) -> int | None:
    """Return the first step of the latest optimizer or loss operation that replaced an earlier one.

    It starts a new fold, ensemble member or training phase, with an unrelated loss. None if there
    was no such change.
    """
    for need in RESTARTS:
        subjects: list[str] = state.get(need.kind, [])
        for observation in window.observations(need.kind):
            if observation.subject not in subjects:
                if subjects:
                    state["another"] = max(observation.step, state.get("another", 0))
                subjects = [*subjects, observation.subject]
        state[need.kind] = subjects
    return state.get("another")


def latest_loss_change(window: Window, state: State) -> int | None:
    """Return the latest step at which the loss became another quantity, or None.

    The reason is a new optimizer, a new loss operation, or another sample size.
    """
    began = latest_restart(window, state)
    for change in window.observations(INPUT_SIZES.kind):
        state["resized"] = change.step
    steps = [step for step in (began, state.get("resized")) if step is not None]
    return max(steps, default=None)


def highest_learning_rate(window: Window) -> FloatArray:
    """Return the rates of the parameter group with the highest rate; empty if unknown."""
    rates = [curve.values for curve in window.scalars("learning_rate*") if len(curve)]
    return max(rates, key=lambda rate: float(rate.max()), default=np.empty(0))
