"""LossSpike: the loss jumps far outside of what it has been."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import Marks, Reals, Usual, middle_of
from sonde.read.window import Curve, Window
from sonde.read.workers import Numbers
from sonde.records.finding import Finding
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import (
    BEGINNINGS,
    SIZES,
    begin_leg,
    fastest_rate,
    loss_changed,
    only_loss,
)

_RECENT = 200  # steps that tell what is usual
_LEAST = 100
_FIRST = 10  # steps that tell the level of an untrained model
_LASTING = 3  # steps out of range: one bad batch is no spike
_AMONG = 5  # consecutive steps: a good batch in between does not end a spike
_ALONE_TIMES_LATE = 30.0  # a single step may not jump so far above the largest of late,
_ALONE_TIMES_UNTRAINED = 3.0  # and above the largest of an untrained model
_ABRUPT = 10  # steps before, it was as usual: what comes slowly is no jump
_CHANGING = 16  # steps around a change of what the loss means; sizes are noted at every 16th step
_SHARE = 0.25  # of the untrained level: a smaller jump harms nobody
_BACK = 10  # steps whose middle says that it has come back
_GIVEN_UP = 400  # steps after which its new level is what is usual
_FASTER = 2.0  # times the learning rate of before: a schedule begins again
_OF_A_SPIKE = ("since", "peak", "peak_step", "tail", "limit", "usual")


class LossSpike(Rule):
    """The loss jumps far outside of its recent range.

    Why it matters: something has thrown the model back: a bad batch, a learning rate that is too
    high, a gradient that overflowed. What was learned may be lost, and a second spike may be fatal.
    How it decides: three of five consecutive training losses exceed the highest of the last 200
    steps, lie `times` as far from the median as the 95th percentile, and a quarter of the initial
    loss above the median; or one loss is 30 times the highest of the last 100 steps and 3 times the
    initial loss. Not applied in the first 100 steps, within 16 steps of a new optimizer, loss
    function or input size, after a learning-rate restart, and to negative losses, losses that take
    turns and reinforcement learning.
    What to do: look at the batches and the learning rate of these steps; clip gradients, warm up
    the learning rate or lower it; go back to the last checkpoint before the spike if it stays.
    """

    times: Positive = 6.0

    needs = (Losses(), *BEGINNINGS, SIZES)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("GradientNormSpike",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks for losses that are out of range, and whether they come back."""
        begin_leg(window, state)
        state["changed"] = loss_changed(window, state)
        loss = only_loss(window, state, "its loss jumps with what it meets")
        if loss is not None:
            yield from self._judge(window, loss, state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        seen = state.get("seen", 0)
        return "" if seen > _LEAST else Shortfall(seen, _LEAST + 1, DataUnit.STEPS)

    def unfit(self, state: State) -> str:
        """Losses that may jump."""
        return str(state.get("unfit", ""))

    def _judge(self, window: Window, curve: Curve, state: State) -> Iterator[Finding]:
        is_finite = np.isfinite(curve.values)
        steps, values = curve.steps[is_finite], curve.values[is_finite]
        if not len(values):
            return
        state["first"] = (state.get("first", []) + values[:_FIRST].tolist())[:_FIRST]
        state["seen"] = state.get("seen", 0) + len(values)
        # the end of the window before is judged again: a spike may have begun there
        before = state.pop("pending", [])
        steps = np.append([step for step, _ in before], steps).astype(np.int64)
        values = np.append([value for _, value in before], values)
        if float(values.min()) < 0:
            state["unfit"] = "the loss goes below zero: it is no distance from anything"
            return
        begin: int | None = 0
        if "since" not in state:
            begin = self._spike(window, steps, values, state)
        if begin is None:
            pending = [] if window.is_last else [*zip(steps.tolist(), values.tolist(), strict=True)]
            state["pending"] = pending[1 - _AMONG :]
            _take(window, values[: len(values) - len(state["pending"])], state)
        else:
            yield from self._follow(curve.name, steps[begin:], values[begin:], state)

    def _spike(self, window: Window, steps: Numbers, values: Reals, state: State) -> int | None:
        """Where a spike begins, if there is one."""
        known: list[float] = state.get("recent", [])
        top, untrained_top = float(values.max()), _ALONE_TIMES_UNTRAINED * max(state["first"])
        if len(known) < _LEAST or top <= min(max(known), untrained_top):
            return None  # as nearly always
        if _begins_again(window, state):
            return None
        recent = np.array(known)
        usual, untrained = Usual.of(recent), middle_of(state["first"])
        lately = Usual.of(recent[-_LEAST:])
        # of a loss that has just come down, the last hundred tell more than the way there
        reach = min(usual.limit(self.times), lately.limit(self.times))
        limit = max(reach, usual.largest, usual.middle + _SHARE * untrained)
        begin = _cluster(values > limit)
        far = max(_ALONE_TIMES_LATE * lately.largest, untrained_top, lately.limit(self.times))
        alone = np.flatnonzero(values > far)
        is_jump = begin is not None and (
            float(np.append(recent, values[:begin])[-_ABRUPT:][0]) <= usual.upper
        )
        if not is_jump and not len(alone):
            return None
        first = begin if begin is not None and is_jump else int(alone[0])
        changed = state["changed"]
        if changed is not None and abs(int(steps[first]) - changed) <= _CHANGING:
            return None
        state["limit"], state["usual"] = limit if is_jump else far, lately.middle
        return first

    def _follow(self, name: str, steps: Numbers, values: Reals, state: State) -> Iterator[Finding]:
        """Says how high it went, and whether it has come back."""
        state.setdefault("since", int(steps[0]))
        top = int(values.argmax())
        if values[top] > state.get("peak", 0.0):
            state["peak"], state["peak_step"] = float(values[top]), int(steps[top])
        state["tail"] = state.get("tail", []) + values.tolist()
        back = _came_back(np.array(state["tail"]), float(state["limit"]))
        lasted = len(state["tail"]) if back is None else back
        yield self._found(name, state, lasted, is_back=back is not None)
        if back is not None:
            yield self.recovered(name)
        if back is not None or lasted > _GIVEN_UP:
            before = state["recent"] if back is not None else []
            state["recent"] = (before + state["tail"][back or 0 :])[-_RECENT:]
            for key in _OF_A_SPIKE:
                del state[key]

    def _found(self, name: str, state: State, lasted: int, *, is_back: bool) -> Finding:
        count = f"{lasted} step" if lasted == 1 else f"{lasted} steps"
        end = f"came back after {count}" if is_back else f"has not come back in {count}"
        return self.finding(
            f"{name} jumped from {state['usual']:.4g} to {state['peak']:.4g} at step "
            f"{state['peak_step']}; it {end}.",
            step=(int(state["since"]), int(state["since"]) + max(lasted, 1) - 1),
            subject=name,
            evidence={
                "usual": state["usual"],
                "limit": state["limit"],
                "peak": state["peak"],
                "peak_step": state["peak_step"],
                "lasted_steps": lasted,
                "has_recovered": is_back,
            },
        )


def _cluster(is_out: Marks) -> int | None:
    """Where enough steps out of range come close together; None where they do not."""
    places = np.flatnonzero(is_out)
    spans = places[_LASTING - 1 :] - places[: len(places) - _LASTING + 1]
    close = np.flatnonzero(spans < _AMONG)
    return int(places[close[0]]) if len(close) else None


def _take(window: Window, values: Reals, state: State) -> None:
    """Remembers a window without a spike."""
    state["recent"] = (state.get("recent", []) + values.tolist())[-_RECENT:]
    rates = fastest_rate(window)
    if len(rates):
        state["rate"] = float(rates[-1])
        state["highest_rate"] = max(state.get("highest_rate", 0.0), float(rates.max()))


def _came_back(values: Reals, limit: float) -> int | None:
    """The place from which on its middle was in range again."""
    if len(values) < _BACK:
        return None
    inside = np.lib.stride_tricks.sliding_window_view(values <= limit, _BACK)
    places = np.flatnonzero(2 * inside.sum(axis=1) >= _BACK)
    if not len(places):
        return None
    place = int(places[0])
    return place + int(np.argmax(inside[place]))


def _begins_again(window: Window, state: State) -> bool:
    """Whether the learning rate goes up to where it has been before, as some schedules do."""
    rates = fastest_rate(window)
    if not len(rates) or "rate" not in state:
        return False
    known = np.append(state["rate"], rates)
    is_up = known > _FASTER * np.minimum.accumulate(known)
    return bool(is_up.any()) and float(rates.max()) <= 1.01 * state["highest_rate"]
