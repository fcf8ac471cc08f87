"""LossNotDecreasing: training goes on, and the loss does not fall."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np

from sonde.analyze.robust import middle_of
from sonde.analyze.trends import Change, Reals, change_over, halved
from sonde.read.scalars import Losses as LossNames
from sonde.read.window import Curve, Window
from sonde.records.finding import Finding
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Percent
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import has_played
from sonde.rules.tensors._answers import NEEDS as ANSWERS
from sonde.rules.tensors._answers import Answers

_BLOCK_STEPS = 10  # steps that become one value of the series that is judged
_MOST_BLOCKS = 128  # then neighbours are joined
_LEAST_BLOCKS = 15
_BLOCKS_OF_A_GUESS = 20  # at first, every model guesses
_EARLY_BLOCKS = 8  # of ten steps: many losses fall at once, and then stand still
_PLATEAU_STEPS = 2000  # so long a plateau at the beginning is no alarm while the job runs
_SHORTEST_STEPS = 150  # of a job that is over
_SURE_SIGMAS = 4.0
_PERHAPS_SIGMAS = 2.5  # a fall that noise may have made
_HIDDEN_SIGMAS = 2.0  # what noise may have hidden
_HINT = 0.02  # of its level: less is no hint
_LEAST_FALL = 0.005  # of its level: less is nothing, however sure it is
# Of its level: a fall that noise could hide, and the same of the first twenty steps, of which there
# are few; a larger one if it is known that the model says the same to everything.
_HIDDEN = (0.05, 0.1)
_HIDDEN_OF_A_GUESS = (0.15, 0.25)
_SINCE = 0.25  # of all steps: from then on a loss must fall that has come down to a guess
_EXPLODED = 2.0  # times what it was before the first step
_CAME_DOWN = 4.0  # times what it was some steps later
_SURELY = 0.05
_FIRST = 5

Fall = tuple[float, float]  # how far it fell, and the standard error of that
Shares = tuple[float, float]


class LossNotDecreasing(Rule):
    """The loss does not fall although training goes on, or it rises.

    Why it matters: every further step costs time and brings nothing.
    How it decides: classic compares the loss with that of num_steps earlier. Calibrated asks
    whether the loss has fallen at all since the beginning, once it has seen 2000 steps (150 if the
    job is over); a later plateau is no alarm. It speaks only where a fall of 5 percent could not
    hide in the noise, and nothing hints at a fall, at once or slowly. Where labels and predictions
    were looked at and the model says the same to everything (its classes are no better than chance
    and its loss is that of a guess, or its numbers vary by less than 2 percent of what labels do),
    15 percent may hide after 200 steps, and a loss that came down at first and has stood still for
    three quarters of the steps is told as well, unless it was far lower in between. A model whose
    classes are far better than chance, or whose numbers vary as labels do with a loss below half of
    their variance, may stand still. A loss that fell far at first is another rule's if it rises
    (LossDiverging), and none's if it rises to another level, as that of hard samples only. Warm-up
    of the learning rate, resumed jobs, losses that change their sign, several losses in turn and
    reinforcement learning are left alone.
    What to do: try another learning rate by factors of ten; check that the optimizer owns the
    parameters, that labels belong to their inputs, that predictions and labels have the same shape
    and that gradients reach the first layer.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: str | None = None
    use_losses_collection: bool = True
    num_steps: Count = 10
    diff_percent: Percent = 0.1
    increase_threshold_percent: float = 5.0
    mode: Literal["train", "eval", "predict"] | None = None

    needs = (Losses(), *ANSWERS)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the loss with what it was."""
        curves = self._curves(window, state)
        for curve in curves:
            if self.is_classic:
                yield from self._classic(curve, state.of(curve.name, curve.mode))
            elif has_played(window, state.of("kind")):
                state["unfit"] = "the model plays while it trains: its loss need not fall"
            elif len(curves) == 1 or self.tensor_regex is not None:
                yield from self._calibrated(window, curve, state.of(curve.name, curve.mode))
            else:
                state["unfit"] = "several losses in turn: none of them has to fall"

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        if self.is_classic:
            return ""
        seen = max((one["steps"] for one in _series(state)), default=0)
        enough = any(one.get("has_fallen") or one.get("was_judged") for one in _series(state))
        if enough:
            return ""
        least = self.num_steps if "num_steps" in self.given else _SHORTEST_STEPS
        return Shortfall(seen, least, DataUnit.STEPS)

    def unfit(self, state: State) -> str:
        """Losses that need not fall."""
        return str(state.get("unfit", ""))

    def _curves(self, window: Window, state: State) -> Sequence[Curve]:
        """What is taken for the loss, in the mode that is asked for."""
        if self.mode is not None:
            return self._curves_of(window, self.mode)
        if self.is_classic:
            evaluated = self._curves_of(window, "eval")
            state["has_eval"] = state.get("has_eval", False) or bool(evaluated)
            if state["has_eval"]:
                return evaluated
        return self._curves_of(window, "train")

    def _curves_of(self, window: Window, mode: str) -> Sequence[Curve]:
        found: list[Curve] = []
        names = self.collection_names or ()
        if self.tensor_regex is not None:
            scalars = window.scalars("*", mode)
            found += [one for one in scalars if re.search(self.tensor_regex, one.name)]
        elif "losses" in names or (self.use_losses_collection and not names):
            found += window.losses(mode)
        for name in names:
            for tensor in window.tensors(name, mode):
                rows = (tensor.steps, tensor.rows.times_ns, tensor.values("mean"))
                found.append(Curve(tensor.name, mode, *rows))
        window.count(sum(len(one) for one in found if one.name not in LossNames()))
        return found

    def _classic(self, curve: Curve, state: State) -> Iterator[Finding]:
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
                said = f"fell by {percent:.3g} %" if percent >= 0 else f"rose by {-percent:.3g} %"
                yield self.finding(
                    f"{curve.name} {said} from step {since} to {step}.",
                    step=(since, step),
                    evidence={"before": before, "after": value, "fall_percent": percent},
                    subject=_subject(curve),
                )
            else:
                yield self.recovered(_subject(curve))

    def _calibrated(self, window: Window, curve: Curve, state: State) -> Iterator[Finding]:
        self._take(window, curve, state)
        answers = Answers(state.of("answers"))
        answers.take(window)
        values = np.array(state["blocks"])
        if state["changes_sign"]:
            state["was_judged"] = True
            return
        if len(values) < _LEAST_BLOCKS:
            return
        said = ""
        if state["has_fallen"] and not state["is_resumed"]:
            said = _stands_at_a_guess(values, answers)
        elif not state["has_fallen"]:
            said = self._never_fell(state, change_over(values), answers)
        if state["steps"] >= self._least_steps(answers, is_over=window.is_last):
            state["was_judged"] = True
            if said:
                yield self._found(curve, state, change_over(values), (said, _why(answers)))
                return
        if state["was_judged"] or state["has_fallen"]:
            yield self.recovered(_subject(curve))

    def _never_fell(self, state: State, change: Change, answers: Answers) -> str:
        """Notes whether it has fallen; if not, what is to be said of that."""
        level = abs(change.start) or 1.0
        falls = _falls(state, change)
        state["has_fallen"] = self._has_fallen(state, change, falls)
        if state["has_fallen"]:
            return ""
        rise = max(self.increase_threshold_percent, self.diff_percent) / 100 * level
        if change.has_risen(rise, _SURE_SIGMAS):
            return "" if _fell_at_first(state, change) else "has risen"
        is_guess = len(state["blocks"]) >= _BLOCKS_OF_A_GUESS and _is_a_guess(answers, change.end)
        hidden = _HIDDEN_OF_A_GUESS if is_guess else _HIDDEN
        is_flat = _has_exploded(state) or _is_flat(falls, level, hidden)
        return "has not fallen" if is_flat and not answers.know_something(change.end) else ""

    def _take(self, window: Window, curve: Curve, state: State) -> None:
        """Adds a window to the series of blocks."""
        if "blocks" not in state:
            # of one that goes on from elsewhere nobody knows what it has come from
            resumed = int(curve.steps[0]) > _FIRST * _BLOCK_STEPS
            state |= {"blocks": [], "rest": [], "width": _BLOCK_STEPS, "first": [], "steps": 0}
            state["early"] = []
            state |= {"begin": int(curve.steps[0]), "has_fallen": resumed, "changes_sign": False}
            state |= {"is_resumed": resumed, "was_judged": False}
        finite = curve.values[np.isfinite(curve.values)]
        signs = {*np.sign(finite).tolist()} - {0.0}
        state["signs"] = sorted(signs | set(state.get("signs", [])))
        state["changes_sign"] = len(state["signs"]) > 1
        state["first"] = (state["first"] + finite.tolist())[:_FIRST]
        state["early"] += finite.tolist()[: _EARLY_BLOCKS * _BLOCK_STEPS - len(state["early"])]
        if _is_warming_up(window):
            return
        state["steps"] += len(curve.values)
        state["last"] = int(curve.steps[-1])
        state["rest"] += finite.tolist()
        while len(state["rest"]) >= state["width"]:
            taken, state["rest"] = state["rest"][: state["width"]], state["rest"][state["width"] :]
            state["blocks"].append(middle_of(taken))
            if len(state["blocks"]) >= _MOST_BLOCKS:
                state["blocks"] = halved(np.array(state["blocks"])).tolist()
                state["width"] *= 2

    def _has_fallen(self, state: State, change: Change, falls: Sequence[Fall]) -> bool:
        """Whether it has surely fallen, at once or slowly."""
        untrained = float(state["first"][0])
        if _has_exploded(state):
            # what comes down from where wrong steps have thrown it has not learned anything
            return change.end < untrained - _SURELY * abs(untrained)
        share = self.diff_percent / 100 if "diff_percent" in self.given else _LEAST_FALL
        least = share * (abs(change.start) or 1.0)
        return any(fall > max(least, _SURE_SIGMAS * error) for fall, error in falls)

    def _least_steps(self, answers: Answers, *, is_over: bool) -> int:
        if "num_steps" in self.given:
            return self.num_steps
        is_sure = is_over or answers.compared_crosswise() is not None
        return _SHORTEST_STEPS if is_sure else _PLATEAU_STEPS

    def _found(self, curve: Curve, state: State, change: Change, said: tuple[str, str]) -> Finding:
        what, why = said
        percent = 100 * change.fall / (abs(change.start) or 1.0)
        return self.finding(
            f"{curve.name} {what} in {state['steps']} steps: it was {change.start:.4g} at the "
            f"beginning and is {change.end:.4g} now (noise ± {change.spread:.2g}).{why}",
            step=(state["begin"], state["last"]),
            evidence={
                "start": change.start,
                "now": change.end,
                "fall_percent": percent,
                "error": change.error,
                "noise": change.spread,
                "series": [float(one) for one in state["blocks"]],
                "steps_per_point": float(state["width"]),
            },
            subject=_subject(curve),
        )


def _falls(state: State, change: Change) -> list[Fall]:
    """How far it has come from its first steps, more and more of them, and from its first part."""
    early = _early_blocks(state)
    spread = change.spread * float(np.sqrt(state["width"] / _BLOCK_STEPS))
    found = []
    for count in (1, 2, 4, 8):
        if count <= len(early):
            error = float(np.hypot(spread / np.sqrt(count), change.error))
            found.append((float(early[:count].mean()) - change.end, error))
    return [*found, (change.fall, change.error)]


def _early_blocks(state: State) -> Reals:
    """The first steps, ten by ten."""
    blocks = len(state["early"]) // _BLOCK_STEPS
    rows = np.array(state["early"][: blocks * _BLOCK_STEPS]).reshape(blocks, _BLOCK_STEPS)
    return np.asarray(np.median(rows, axis=1))


def _has_exploded(state: State) -> bool:
    """Whether the first steps threw it far above where it began, and it came down again."""
    early = np.abs(_early_blocks(state))
    if len(early) < _EARLY_BLOCKS:
        return False
    highest, later = float(early.max()), float(np.median(early[_EARLY_BLOCKS // 2 :]))
    is_above = highest > _EXPLODED * abs(float(state["first"][0]))
    return is_above and highest > _CAME_DOWN * later


def _fell_at_first(state: State, change: Change) -> bool:
    """Whether it was far lower in between: then another one is minimized since, or it diverges."""
    untrained = float(_early_blocks(state)[0])
    return untrained - _lowest(np.array(state["blocks"])) > max(
        _HIDDEN_OF_A_GUESS[1] * abs(untrained), _SURE_SIGMAS * change.spread
    )


def _is_flat(falls: Sequence[Fall], level: float, most_hidden: Shares) -> bool:
    """Whether nothing hints at a fall, and none that matters could hide in the noise."""
    hint = _HINT * level
    may_have_fallen = any(fall > max(_PERHAPS_SIGMAS * error, hint) for fall, error in falls)
    hidden = min(fall + _HIDDEN_SIGMAS * error for fall, error in falls)
    at_once = min(fall + _HIDDEN_SIGMAS * error for fall, error in falls[:2])
    is_plain = hidden < most_hidden[0] * level and at_once < most_hidden[1] * level
    return is_plain and not may_have_fallen


def _stands_at_a_guess(values: Reals, answers: Answers) -> str:
    """Whether it came down to what a guess gives, and has not fallen any more since."""
    is_early = len(values) < _BLOCKS_OF_A_GUESS
    if is_early or not _is_a_guess(answers, float(values[-len(values) // 4 :].mean())):
        return ""  # as nearly always
    since = values[int(_SINCE * len(values)) :]
    later = change_over(since)
    level = abs(later.start) or 1.0
    is_still = _is_flat([(later.fall, later.error)], level, _HIDDEN_OF_A_GUESS)
    is_still = is_still and not _was_better(since, later)
    return "has not fallen for most of the time" if is_still else ""


def _was_better(values: Reals, change: Change) -> bool:
    """Whether it was far lower in between: one model after another begins with a guess."""
    least = max(_HIDDEN_OF_A_GUESS[1] * abs(change.end), _PERHAPS_SIGMAS * change.spread)
    return change.end - _lowest(values) > least


def _lowest(values: Reals) -> float:
    """Of three blocks in a row."""
    return min(middle_of(values[place : place + 3]) for place in range(len(values) - 2))


def _is_a_guess(answers: Answers, loss: float) -> bool:
    return answers.know_nothing(loss) or answers.compared_crosswise() is not None


def _why(answers: Answers) -> str:
    """What the shapes of answers and labels explain."""
    shapes = answers.compared_crosswise()
    if shapes is None:
        return ""
    return (
        f" Predictions of shape {shapes[0]} are compared with labels of shape {shapes[1]}: "
        "each of them with every other."
    )


def _subject(curve: Curve) -> str:
    return f"{curve.name}/{curve.mode}"


def _is_warming_up(window: Window) -> bool:
    """Whether every learning rate still rises to the window's end."""
    rates = [one.values for one in window.scalars("learning_rate*") if len(one) > 1]
    return bool(rates) and all(bool((np.diff(one) > 0).all()) for one in rates)


def _series(state: State) -> Iterator[State]:
    for modes in state.values():
        if isinstance(modes, State):
            yield from (one for one in modes.values() if isinstance(one, State) and "steps" in one)
