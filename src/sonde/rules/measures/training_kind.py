"""What kind of training it is, as far as several rules have to know."""

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

# the first step of each optimizer, and of each operation that the loss comes from
RESTARTS = (
    Observations(ObservationKind.NEW_OPTIMIZER.value),
    Observations(ObservationKind.LOSS_KIND.value),
)
INPUT_SIZES = Observations(ObservationKind.INPUT_SIZE.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds that tell reinforcement learning from supervised training.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    # share of steps with an evaluation inside from which on an agent is acting
    evaluating_share: float = 0.5
    min_gaps: int = 6  # between steps with an evaluation inside
    max_mean_gap_steps: float = 10.0  # between steps with an evaluation inside
    even_share: float = 0.6  # of equal gaps: evaluations in a supervised loop come every N steps
    # forward passes without a backward pass, if some steps have rollouts
    acting_passes_per_step: float = 1.0
    # forward passes without a backward pass; teachers and critics have one or two
    rollout_passes: int = 8


LIMITS = Calibration()


def begin_attempt(window: Window, state: State) -> None:
    """Forgets what was before workers started again: what is done again need not go on from it."""
    if state.get("leg") != window.attempt.number:
        state.clear()
        state["leg"] = window.attempt.number


def is_reinforcement_learning(window: Window) -> bool:
    """Whether an agent acts between training steps, as in reinforcement learning.

    Most steps have an evaluation inside, or some at irregular steps: an agent that explores acts by
    chance at first. Or there are rollouts: many passes before a step that lead to no backward pass,
    and as many of them as there are steps. What such a model is given depends on what it does, so
    its losses rise and jump as it learns.
    """
    tables = window.steps()
    if not tables:
        return False
    table = tables[0]
    has_evaluation = table.phases_ns[Phase.EVALUATION.value] > 0
    if float(has_evaluation.mean()) > LIMITS.evaluating_share or _is_irregular(
        np.flatnonzero(has_evaluation)
    ):
        return True
    acts = np.maximum(table.passes - table.micro_steps, 0)
    return bool(has_rollout(table).any() and acts.mean() >= LIMITS.acting_passes_per_step)


def _is_irregular(steps: IntArray) -> bool:
    """Whether things happen often, and not every N steps."""
    gaps = np.diff(steps)
    if len(gaps) < LIMITS.min_gaps or float(gaps.mean()) > LIMITS.max_mean_gap_steps:
        return False
    return int(np.bincount(gaps).max()) < LIMITS.even_share * len(gaps)


def has_rollout(table: StepTable) -> BoolArray:
    """Steps with many passes that lead to no backward pass: they take longer on purpose."""
    return np.asarray(table.passes - table.micro_steps >= LIMITS.rollout_passes)


def was_reinforcement_learning(window: Window, state: State) -> bool:
    """Whether an agent has acted in this window or before: one rollout is for many steps."""
    state["plays"] = bool(state.get("plays")) or is_reinforcement_learning(window)
    return bool(state["plays"])


def single_loss(window: Window, state: State, playing: str) -> Curve | None:
    """The loss that tells where training goes; None where one may go anywhere, now or before.

    Args:
        window: What is looked at.
        state: Where the reason is kept, as `unfit`.
        playing: What is so of the loss of a model that plays.
    """
    curves = window.losses()
    if len(curves) > 1:
        state["unfit"] = "alternating losses influence each other"
    if is_reinforcement_learning(window):
        state["unfit"] = f"reinforcement learning: {playing}"
    return curves[0] if len(curves) == 1 and "unfit" not in state else None


def latest_restart(window: Window, state: State) -> int | None:
    """The first step of the latest optimizer that was made after others had stepped; None: no such.

    A fold, a member of an ensemble or a second phase begins so, and its loss where it will. So does
    a loss that comes from another operation than all before.
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
    """The latest step from which on the loss is another quantity; None: no such.

    Another optimizer steps, it comes from another operation, or samples have another size.
    """
    began = latest_restart(window, state)
    for change in window.observations(INPUT_SIZES.kind):
        state["resized"] = change.step
    steps = [step for step in (began, state.get("resized")) if step is not None]
    return max(steps, default=None)


def highest_learning_rate(window: Window) -> FloatArray:
    """The learning rate of the group that learns fastest, step by step; nothing, if not known."""
    rates = [curve.values for curve in window.scalars("learning_rate*") if len(curve)]
    return max(rates, key=lambda rate: float(rate.max()), default=np.empty(0))
