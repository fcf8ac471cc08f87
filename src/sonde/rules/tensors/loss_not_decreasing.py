"""LossNotDecreasing: the loss does not decrease during training."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import median_of
from sonde.analyze.trends import Change, average_pairs, measure_change
from sonde.formats import format_percent
from sonde.read.curves import Curve
from sonde.read.scalars import Losses as LossNames
from sonde.read.window import Window
from sonde.records.arrays import FloatArray
from sonde.records.finding import Finding
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._parameters import Count, ModeName, Percent, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.curve_selection import curves_of
from sonde.rules.measures.predictions import NEEDS as PREDICTION_NEEDS
from sonde.rules.measures.predictions import Predictions
from sonde.rules.measures.tensor_selection import LOSSES
from sonde.rules.measures.training_kind import was_reinforcement_learning

Fall = tuple[float, float]  # the decrease and its standard error
Shares = tuple[float, float]  # overall, and in the first 20 steps


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LossNotDecreasing.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    block_steps: int = 10  # their median is one value of the series
    max_blocks: int = 128  # beyond it, neighbors are averaged
    min_blocks: int = 15
    guess_blocks: int = 20  # before that, every model guesses
    early_blocks: int = 8  # many losses fall quickly and then level off
    min_steps_running: int = 2000  # a long initial plateau is normal
    min_steps_at_end: int = 150  # if the job has ended
    sure_sigmas: float = 4.0  # a fall that is certain
    possible_sigmas: float = 2.5  # a fall that may be noise
    hidden_sigmas: float = 2.0  # a fall that noise may hide
    hint_share: float = 0.02  # of the level; a possible fall
    min_fall_share: float = 0.005  # of the level
    # of the level; falls that noise may hide, overall and in the first 20 steps
    max_hidden_shares: tuple[float, float] = (0.05, 0.1)
    # the same, if predictions are equal for all inputs
    max_hidden_shares_guess: tuple[float, float] = (0.15, 0.25)
    plateau_from_share: float = 0.25  # of all steps, after which a plateau counts
    exploded_factor: float = 2.0  # of the initial loss
    came_down_factor: float = 4.0  # of the level some steps later
    recovered_share: float = 0.05  # of the initial loss; a fall below it after an explosion
    initial_losses: int = 5  # recorded from the start


LIMITS = Calibration()


class LossNotDecreasing(Rule):
    """The loss does not decrease during training, or it increases.

    Why it matters: Every further step costs time and achieves nothing.
    How it decides:
    - The loss has not fallen by 0.5% of its initial value since the start, and the noise is too
      small to hide a fall of 5%. Or it has risen by more than `increase_threshold_percent`.
    - Judged after 2,000 steps (150 at the end of the job), or after `num_steps` if you set it.
    - If predictions are recorded and are the same for every input, a fall of 15% may be hidden, and
      a plateau over the last 75% of the steps counts. If predictions are clearly better than
      chance, it does not fire.
    - Not applied to warm-up, resumed jobs, losses that change sign, alternating losses and
      reinforcement learning. A loss that rises after a large fall is left to LossDiverging.
    - Classic: the loss has not fallen by `diff_percent`, or has risen by
      `increase_threshold_percent`, compared with `num_steps` steps before.
    What to do: Change the learning rate by factors of ten. Check that the optimizer owns the
    parameters, that labels match their inputs, that predictions and labels have the same shape, and
    that gradients reach the first layer.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    use_losses_collection: bool = True
    num_steps: Count = 10
    diff_percent: Percent = 0.1
    increase_threshold_percent: float = 5.0
    mode: ModeName | None = None

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Losses(), *PREDICTION_NEEDS)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the loss with its earlier values."""
        for curve, has_others in self._curves(window, state):
            if self.is_classic:
                yield from self._check_classic(curve, state.of(curve.name, curve.mode))
            elif was_reinforcement_learning(window, state.of("kind")):
                state["unfit"] = "reinforcement learning: the loss need not decrease"
            elif self.tensor_regex is not None or not has_others:
                yield from self._check_calibrated(window, curve, state.of(curve.name, curve.mode))
            else:
                state["unfit"] = "with alternating losses, none of them has to decrease"

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many steps are missing."""
        if self.is_classic:
            return ""
        count = max((series["steps"] for series in _series(state)), default=0)
        is_enough = any(
            series.get("has_fallen") or series.get("was_judged") for series in _series(state)
        )
        if is_enough:
            return ""
        minimum = (
            self.num_steps if "num_steps" in self.explicit_parameters else LIMITS.min_steps_at_end
        )
        return Shortfall(count, minimum, DataUnit.STEPS)

    def unfit(self, state: State) -> str:
        """Return a reason if the loss need not decrease."""
        return str(state.get("unfit", ""))

    def _curves(self, window: Window, state: State) -> Iterator[tuple[Curve, bool]]:
        """Yield the curves used as loss, and whether their mode has others."""
        for mode in self._modes(window, state):
            curves = self._curves_of(window, mode)
            yield from ((curve, len(curves) > 1) for curve in curves)

    def _modes(self, window: Window, state: State) -> tuple[str, ...]:
        if self.mode is not None:
            return tuple(Mode) if self.mode == "global" else (self.mode,)
        if self.is_classic:
            has_eval = state.get("has_eval", False) or bool(self._curves_of(window, "eval"))
            state["has_eval"] = has_eval
            return ("eval",) if has_eval else ("train",)
        return ("train",)

    def _curves_of(self, window: Window, mode: str) -> Sequence[Curve]:
        names = self.collection_names or ()
        is_default = self.use_losses_collection and not names and self.tensor_regex is None
        collections = (LOSSES,) if is_default else names
        curves = curves_of(window, mode, collections, self.tensor_regex)
        window.count(sum(len(curve) for curve in curves if curve.name not in LossNames()))
        return curves

    def _check_classic(self, curve: Curve, state: State) -> Iterator[Finding]:
        for step, value in curve:
            if "step" not in state:
                state["step"], state["value"] = step, value
                continue
            if step - state["step"] < self.num_steps:
                continue
            before, since = state["value"], state["step"]
            state["step"], state["value"] = step, value
            percent = 100 * (before - value) / abs(before) if before else 0.0
            if percent < self.diff_percent or -percent > self.increase_threshold_percent:
                verb = "fell" if percent >= 0 else "rose"
                yield self.finding(
                    f"{curve.name} {verb} by {format_percent(abs(percent))} from step {since} "
                    f"to {step}.",
                    step=(since, step),
                    evidence={"before": before, "after": value, "fall_percent": percent},
                    subject=_subject(curve),
                )
            else:
                yield self.recovered(_subject(curve))

    def _check_calibrated(self, window: Window, curve: Curve, state: State) -> Iterator[Finding]:
        self._add(window, curve, state)
        predictions = Predictions(state.of("answers"))
        predictions.take(window)
        values = np.array(state["blocks"])
        if state["changes_sign"]:
            state["was_judged"] = True
            return
        if len(values) < LIMITS.min_blocks:
            return
        text = ""
        if state["has_fallen"] and not state["is_resumed"]:
            text = _plateau_text(values, predictions)
        elif not state["has_fallen"]:
            text = self._no_fall_text(state, measure_change(values), predictions)
        if state["steps"] >= self._min_steps(predictions, is_over=window.is_last):
            state["was_judged"] = True
            if text:
                yield self._finding(
                    curve, state, measure_change(values), (text, _shape_mismatch(predictions))
                )
                return
        if state["was_judged"] or state["has_fallen"]:
            yield self.recovered(_subject(curve))

    def _no_fall_text(self, state: State, change: Change, predictions: Predictions) -> str:
        """Record whether the loss has fallen; if not, return what it did instead."""
        level = abs(change.start) or 1.0
        falls = _falls(state, change)
        state["has_fallen"] = self._has_fallen(state, change, falls)
        if state["has_fallen"]:
            return ""
        rise = max(self.increase_threshold_percent, self.diff_percent) / 100 * level
        if change.has_risen(rise, LIMITS.sure_sigmas):
            return "" if _fell_before_rising(state, change) else "has increased"
        is_guess = len(state["blocks"]) >= LIMITS.guess_blocks and _is_a_guess(
            predictions, change.end
        )
        hidden = LIMITS.max_hidden_shares_guess if is_guess else LIMITS.max_hidden_shares
        is_flat = _has_exploded(state) or _is_flat(falls, level, hidden)
        is_stuck = is_flat and not predictions.are_informative(change.end)
        return "has not decreased" if is_stuck else ""

    def _add(self, window: Window, curve: Curve, state: State) -> None:
        """Add a window to the series of blocks."""
        if "blocks" not in state:
            # the initial loss of a resumed job is unknown
            is_resumed = int(curve.steps[0]) > LIMITS.initial_losses * LIMITS.block_steps
            state |= {"blocks": [], "rest": [], "first": [], "early": [], "steps": 0}
            state["width"] = LIMITS.block_steps
            state |= {"begin": int(curve.steps[0]), "has_fallen": is_resumed, "changes_sign": False}
            state |= {"is_resumed": is_resumed, "was_judged": False}
        finite = curve.values[np.isfinite(curve.values)]
        signs = {*np.sign(finite).tolist()} - {0.0}
        state["signs"] = sorted(signs | set(state.get("signs", [])))
        state["changes_sign"] = len(state["signs"]) > 1
        state["first"] = (state["first"] + finite.tolist())[: LIMITS.initial_losses]
        state["early"] += finite.tolist()[
            : LIMITS.early_blocks * LIMITS.block_steps - len(state["early"])
        ]
        if _is_warming_up(window):
            return
        state["steps"] += len(curve.values)
        state["last"] = int(curve.steps[-1])
        state["rest"] += finite.tolist()
        while len(state["rest"]) >= state["width"]:
            block, state["rest"] = state["rest"][: state["width"]], state["rest"][state["width"] :]
            state["blocks"].append(median_of(block))
            if len(state["blocks"]) >= LIMITS.max_blocks:
                state["blocks"] = average_pairs(np.array(state["blocks"])).tolist()
                state["width"] *= 2

    def _has_fallen(self, state: State, change: Change, falls: Sequence[Fall]) -> bool:
        """Whether the loss has certainly fallen, quickly or slowly."""
        untrained = float(state["first"][0])
        if _has_exploded(state):
            # a loss that only recovers from an explosion has not learned anything
            return change.end < untrained - LIMITS.recovered_share * abs(untrained)
        share = (
            self.diff_percent / 100
            if "diff_percent" in self.explicit_parameters
            else LIMITS.min_fall_share
        )
        minimum = share * (abs(change.start) or 1.0)
        return any(fall > max(minimum, LIMITS.sure_sigmas * error) for fall, error in falls)

    def _min_steps(self, predictions: Predictions, *, is_over: bool) -> int:
        if "num_steps" in self.explicit_parameters:
            return self.num_steps
        is_sure = is_over or predictions.broadcast_shapes() is not None
        return LIMITS.min_steps_at_end if is_sure else LIMITS.min_steps_running

    def _finding(
        self, curve: Curve, state: State, change: Change, text: tuple[str, str]
    ) -> Finding:
        problem, reason = text
        percent = 100 * change.fall / (abs(change.start) or 1.0)
        return self.finding(
            f"{curve.name} {problem} in {state['steps']:,} steps: from {change.start:.4g} to "
            f"{change.end:.4g} (noise ± {change.spread:.2g}).{reason}",
            step=(state["begin"], state["last"]),
            evidence={
                "start": change.start,
                "now": change.end,
                "fall_percent": percent,
                "error": change.error,
                "noise": change.spread,
                "series": [float(block) for block in state["blocks"]],
                "steps_per_point": float(state["width"]),
            },
            subject=_subject(curve),
        )


def _falls(state: State, change: Change) -> list[Fall]:
    """Return the decreases from the first 10, 20, 40 and 80 steps, and from the first part."""
    early = _early_blocks(state)
    spread = change.spread * float(np.sqrt(state["width"] / LIMITS.block_steps))
    falls = []
    for count in (1, 2, 4, 8):
        if count <= len(early):
            error = float(np.hypot(spread / np.sqrt(count), change.error))
            falls.append((float(early[:count].mean()) - change.end, error))
    return [*falls, (change.fall, change.error)]


def _early_blocks(state: State) -> FloatArray:
    """Return the medians of the first blocks of ten steps."""
    blocks = len(state["early"]) // LIMITS.block_steps
    rows = np.array(state["early"][: blocks * LIMITS.block_steps]).reshape(
        blocks, LIMITS.block_steps
    )
    return np.asarray(np.median(rows, axis=1))


def _has_exploded(state: State) -> bool:
    """Whether the loss rose far above its initial value in the first steps and came down again."""
    early = np.abs(_early_blocks(state))
    if len(early) < LIMITS.early_blocks:
        return False
    highest, later = float(early.max()), float(np.median(early[LIMITS.early_blocks // 2 :]))
    is_above = highest > LIMITS.exploded_factor * abs(float(state["first"][0]))
    return is_above and highest > LIMITS.came_down_factor * later


def _fell_before_rising(state: State, change: Change) -> bool:
    """Whether the loss was far lower in between, so that it diverges or has been replaced."""
    untrained = float(_early_blocks(state)[0])
    return untrained - _lowest(np.array(state["blocks"])) > max(
        LIMITS.max_hidden_shares_guess[1] * abs(untrained), LIMITS.sure_sigmas * change.spread
    )


def _is_flat(falls: Sequence[Fall], level: float, max_hidden: Shares) -> bool:
    """Whether there is no sign of a fall, and noise is too small to hide one."""
    hint = LIMITS.hint_share * level
    may_have_fallen = any(fall > max(LIMITS.possible_sigmas * error, hint) for fall, error in falls)
    hidden = min(fall + LIMITS.hidden_sigmas * error for fall, error in falls)
    early = min(fall + LIMITS.hidden_sigmas * error for fall, error in falls[:2])
    is_visible = hidden < max_hidden[0] * level and early < max_hidden[1] * level
    return is_visible and not may_have_fallen


def _plateau_text(values: FloatArray, predictions: Predictions) -> str:
    """Describe a plateau at the loss of a model that guesses; empty if there is none."""
    is_early = len(values) < LIMITS.guess_blocks
    if is_early or not _is_a_guess(predictions, float(values[-len(values) // 4 :].mean())):
        return ""  # the common case
    plateau = values[int(LIMITS.plateau_from_share * len(values)) :]
    change = measure_change(plateau)
    level = abs(change.start) or 1.0
    is_plateau = _is_flat([(change.fall, change.error)], level, LIMITS.max_hidden_shares_guess)
    is_plateau = is_plateau and not _was_lower(plateau, change)
    return "has not decreased for most of the time" if is_plateau else ""


def _was_lower(values: FloatArray, change: Change) -> bool:
    """Whether the loss was far lower in between, as when several models are trained in turn."""
    minimum = max(
        LIMITS.max_hidden_shares_guess[1] * abs(change.end), LIMITS.possible_sigmas * change.spread
    )
    return change.end - _lowest(values) > minimum


def _lowest(values: FloatArray) -> float:
    """Return the lowest median of three consecutive blocks."""
    return min(median_of(values[index : index + 3]) for index in range(len(values) - 2))


def _is_a_guess(predictions: Predictions, loss: float) -> bool:
    return predictions.are_uninformative(loss) or predictions.broadcast_shapes() is not None


def _shape_mismatch(predictions: Predictions) -> str:
    """Explain a shape mismatch between predictions and labels; empty if there is none."""
    shapes = predictions.broadcast_shapes()
    if shapes is None:
        return ""
    return (
        f" Predictions of shape {shapes[0]} are compared with labels of shape {shapes[1]}, so "
        "broadcasting compares each prediction with every label."
    )


def _subject(curve: Curve) -> str:
    return f"{curve.name}/{curve.mode}"


def _is_warming_up(window: Window) -> bool:
    """Whether every learning rate rises until the end of the window."""
    rates = [curve.values for curve in window.scalars("learning_rate*") if len(curve) > 1]
    return bool(rates) and all(bool((np.diff(rate) > 0).all()) for rate in rates)


def _series(state: State) -> Iterator[State]:
    for modes in state.values():
        if isinstance(modes, State):
            yield from (
                mode for mode in modes.values() if isinstance(mode, State) and "steps" in mode
            )
