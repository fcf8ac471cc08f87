"""What kind of training it is, as far as several rules have to know."""

import numpy as np

from sonde.read.job_data import Reals
from sonde.read.steps import StepTable
from sonde.read.window import Curve, Window
from sonde.read.workers import Marks, Numbers
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.step import Phase
from sonde.rules._rule import State

# the first step of each optimizer, and of each operation that the loss comes from
BEGINNINGS = (
    Observations(ObservationKind.NEW_OPTIMIZER.value),
    Observations(ObservationKind.LOSS_KIND.value),
)
SIZES = Observations(ObservationKind.INPUT_SIZE.value)
_PLAYING = 0.5  # of the steps with an evaluation inside
_LEAST_GAPS = 6  # between steps with an evaluation inside
_WIDEST_GAP = 10.0  # steps, on average
_EVEN = 0.6  # of the gaps: evaluations of a plain loop come every N steps
_ACTING = 1.0  # passes per step that lead to no backward pass, where some steps have
_ROLLOUT = 8  # at least so many of them: teachers and critics have one or two at every step


def begin_leg(window: Window, state: State) -> None:
    """Forgets what was before workers started again: what is done again need not go on from it."""
    if state.get("leg") != window.leg.number:
        state.clear()
        state["leg"] = window.leg.number


def is_playing(window: Window) -> bool:
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
    if float(has_evaluation.mean()) > _PLAYING or _is_irregular(np.flatnonzero(has_evaluation)):
        return True
    acts = np.maximum(table.passes - table.micro_steps, 0)
    return bool(has_rollout(table).any() and acts.mean() >= _ACTING)


def _is_irregular(places: Numbers) -> bool:
    """Whether things happen often, and not every N steps."""
    gaps = np.diff(places)
    if len(gaps) < _LEAST_GAPS or float(gaps.mean()) > _WIDEST_GAP:
        return False
    return int(np.bincount(gaps).max()) < _EVEN * len(gaps)


def has_rollout(table: StepTable) -> Marks:
    """Steps with many passes that lead to no backward pass: they take longer on purpose."""
    return np.asarray(table.passes - table.micro_steps >= _ROLLOUT)


def has_played(window: Window, state: State) -> bool:
    """Whether an agent has acted in this window or before: one rollout is for many steps."""
    state["plays"] = bool(state.get("plays")) or is_playing(window)
    return bool(state["plays"])


def only_loss(window: Window, state: State, playing: str) -> Curve | None:
    """The loss that tells where training goes; None where one may go anywhere, now or before.

    Args:
        window: What is looked at.
        state: Where the reason is kept, as `unfit`.
        playing: What is so of the loss of a model that plays.
    """
    curves = window.losses()
    if len(curves) > 1:
        state["unfit"] = "several losses in turn: they push each other about"
    if is_playing(window):
        state["unfit"] = f"the model plays while it trains: {playing}"
    return curves[0] if len(curves) == 1 and "unfit" not in state else None


def another_began(window: Window, state: State) -> int | None:
    """The first step of the latest optimizer that was made after others had stepped; None: no such.

    A fold, a member of an ensemble or a second phase begins so, and its loss where it will. So does
    a loss that comes from another operation than all before.
    """
    for need in BEGINNINGS:
        known: list[str] = state.get(need.kind, [])
        for one in window.observations(need.kind):
            if one.subject not in known:
                if known:
                    state["another"] = max(one.step, state.get("another", 0))
                known = [*known, one.subject]
        state[need.kind] = known
    return state.get("another")


def loss_changed(window: Window, state: State) -> int | None:
    """The latest step from which on the loss is another quantity; None: no such.

    Another optimizer steps, it comes from another operation, or samples have another size.
    """
    began = another_began(window, state)
    for change in window.observations(SIZES.kind):
        state["resized"] = change.step
    steps = [step for step in (began, state.get("resized")) if step is not None]
    return max(steps, default=None)


def fastest_rate(window: Window) -> Reals:
    """The learning rate of the group that learns fastest, step by step; nothing, if not known."""
    rates = [one.values for one in window.scalars("learning_rate*") if len(one)]
    return max(rates, key=lambda one: float(one.max()), default=np.empty(0))
