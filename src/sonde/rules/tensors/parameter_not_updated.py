"""ParameterNotUpdated: a parameter gets gradients and stays what it is."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import (
    begin_leg,
    is_told_again,
    names_in_words,
    over,
    some,
    told,
)

_UNOWNED = ObservationKind.UNOWNED_PARAMETER.value
_UNMOVED = ObservationKind.UNMOVED_PARAMETER.value
_NOWHERE = "optimizer_"  # what the hook calls parameters that no module has
_NEARLY_ALL = 0.9  # of the parameters
_MOST_SAMPLED = 256  # by the hook at a time
_UNREGISTERED = 2  # of the values that the hook gives
_LOOK_STEPS = 5  # of an optimizer, over which the hook compares


class ParameterNotUpdated(Rule):
    """A parameter gets gradients and does not change, while others do.

    Why it matters: a part of the model stays as it was initialized. The loss often falls all the
    same, so nobody notices.
    How it decides: the hook compares samples of every parameter over five steps of its optimizer.
    It fires for parameters that no optimizer owns, where they were put in the place of others
    (critical), where their layer is in a plain list, in which parameters() does not find it, or
    where they are not more than those that are owned: who trains only a head leaves most of the
    model out on purpose. And for parameters that are owned and do not move in ten steps, while
    others do: because their learning rate is zero, or though gradient times learning rate is more
    than rounding loses. What vanishes, converges or waits for a warm-up has no reason to move.
    What to do: build the optimizer after the model is complete and on its device, and give it
    model.parameters(); of layers that are not meant to learn, set requires_grad to False.
    """

    needs = (Observations(_UNOWNED), Observations(_UNMOVED))
    window_steps: ClassVar[int] = 1
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("UnchangedTensor", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Takes what the hook has found, and says what stands."""
        yield from begin_leg(self, window, state)
        window.count_watched_steps()
        for kind, judge in ((_UNOWNED, self._unowned), (_UNMOVED, self._unmoved)):
            has_changed = self._take(window, kind, state)
            if not state.of(kind):
                yield from over(self, state, kind)
            elif has_changed or is_told_again(window):
                finding = judge(window, state)
                if finding is not None:
                    told(state, kind)
                    yield finding

    def _take(self, window: Window, kind: str, state: State) -> bool:
        stands = state.of(kind)
        found = window.observations(kind)
        for one in found:
            if one.detail == "over":
                stands.pop(one.subject, None)
            elif one.subject not in stands:
                stands[one.subject] = _noted(one)
        return bool(found)

    def _unowned(self, window: Window, state: State) -> Finding | None:
        stands = state.of(_UNOWNED)
        known = window.data.infos()
        has_left_over = any(name.startswith(_NOWHERE) for name in known)
        unregistered = [name for name in stands if stands[name]["value"] == _UNREGISTERED]
        others = [name for name in stands if name not in unregistered]
        replaced = [name for name in others if stands[name]["value"] or name in known]
        is_replaced = bool(replaced) or (has_left_over and bool(others))
        owned = _owned(window)
        if not (is_replaced or unregistered) and len(stands) > owned:
            return None
        names = replaced or unregistered or list(stands)
        why = ", though others of the same model have one"
        if is_replaced:
            why = ": the optimizer was built before the layer was replaced, and owns the old one"
        elif unregistered:
            why = ": its layer is in a plain list or dict, where parameters() does not find it"
        return self.finding(
            f"{names_in_words(names)}: no optimizer owns it, so it never changes{why}.",
            severity=Severity.CRITICAL if is_replaced else Severity.WARNING,
            step=_steps(window, stands),
            tensor=names[0],
            subject=_UNOWNED,
            worker=stands[names[0]]["worker"],
            evidence={
                "tensors": some(names),
                "count": len(stands),
                "owned": owned,
                "replaced": is_replaced,
            },
        )

    def _unmoved(self, window: Window, state: State) -> Finding | None:
        stands, owned = state.of(_UNMOVED), _owned(window)
        names = list(stands)
        if len(names) >= _NEARLY_ALL * min(owned, _MOST_SAMPLED):
            return None  # nothing moves: that is another rule's
        first = stands[names[0]]
        rate = "" if first["rate"] is None else f" with a learning rate of {first['rate']:g}"
        return self.finding(
            f"{names_in_words(names)} has not changed in {first['value']:.0f} steps{rate}, though "
            "it gets gradients; others do.",
            step=_steps(window, stands),
            tensor=names[0],
            subject=_UNMOVED,
            worker=first["worker"],
            evidence={
                "tensors": some(names),
                "count": len(names),
                "of": owned,
                "learning_rate": first["rate"],
            },
            advice="See whether something writes it back after each step, whether its learning "
            "rate is far too small, or whether its data type is too coarse for such updates "
            "(keep master weights in float32).",
        )


def _noted(one: Observation) -> State:
    try:
        rate = float(one.detail)
    except ValueError:
        rate = None
    seen_for = one.value if one.kind == _UNMOVED else _LOOK_STEPS
    since = max(0, one.step - int(seen_for))
    return State(step=one.step, since=since, value=one.value, worker=one.worker, rate=rate)


def _steps(window: Window, stands: State) -> tuple[int, int]:
    first = min(int(one["since"]) for one in stands.values())
    last = max(int(one["step"]) for one in stands.values())
    return first, max(last, window.first_step or 0)


def _owned(window: Window) -> int:
    """How many parameters get gradients from an optimizer."""
    return sum(name.startswith("gradient/") for name in window.data.infos())
