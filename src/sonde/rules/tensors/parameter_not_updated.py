"""ParameterNotUpdated: a parameter gets gradients and stays what it is."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations, Statistics
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
_ALIVE = 1e-3  # of the liveliest gradient: below it, it is the gradient that is at fault
_CONVERGED = 1e-2  # of the liveliest gradient at the beginning: below it training is done
_LOOK_STEPS = 5  # of an optimizer, over which the hook compares
_LATER_LOOKS = 1100  # steps in which the hook has looked twice again


class ParameterNotUpdated(Rule):
    """A parameter gets gradients and does not change, while others do.

    Why it matters: a part of the model stays as it was initialized. The loss often falls all the
    same, so nobody notices.
    How it decides: the hook compares samples of every parameter over five steps of its optimizer.
    It fires for parameters that no optimizer owns, where they were put in the place of others
    (critical) or are fewer than those that are owned: who trains only a head leaves most of the
    model out on purpose. And for parameters that are owned, have a learning rate and a gradient
    that is not far smaller than that of others, and do not move. While the learning rate rises
    from nothing it waits.
    What to do: build the optimizer after the model is complete and on its device, and give it
    model.parameters(); of layers that are not meant to learn, set requires_grad to False.
    """

    needs = (Observations(_UNOWNED), Observations(_UNMOVED), Statistics("gradients"))
    window_steps: ClassVar[int] = 10
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("UnchangedTensor", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Takes what the hook has found, and says what stands."""
        yield from begin_leg(self, window, state)
        window.count_watched_steps()
        changed = {kind: self._take(window, kind, state) for kind in (_UNOWNED, _UNMOVED)}
        self._learn(window, state)
        for kind, has_changed in changed.items():
            stands = state.of(kind)
            if not stands:
                yield from over(self, state, kind)
            elif has_changed or is_told_again(window) or kind not in state.get("told", []):
                yield from self._judged(kind, window, state)

    def _take(self, window: Window, kind: str, state: State) -> bool:
        stands = state.of(kind)
        found = window.observations(kind)
        for one in found:
            if one.detail == "over":
                stands.pop(one.subject, None)
            elif one.subject not in stands:
                stands[one.subject] = _noted(one)
        return bool(found)

    def _learn(self, window: Window, state: State) -> None:
        """How many parameters get a gradient from an optimizer, and how large gradients are."""
        if "owned" in state and not state.of(_UNMOVED):
            return
        gradients = window.tensors("gradients")
        sizes = state.of("sizes")
        for one in gradients:
            sizes[one.name.removeprefix("gradient/")] = float(one.values("abs_mean")[-1])
        if gradients:
            state["sized"] = max(int(one.steps[-1]) for one in gradients)
            state["owned"] = len(sizes)
            state.setdefault("lively", max(sizes.values()))

    def _judged(self, kind: str, window: Window, state: State) -> Iterator[Finding]:
        judge = self._unowned if kind == _UNOWNED else self._unmoved
        finding = judge(window, state)
        if finding is not None:
            told(state, kind)
            yield finding

    def _unowned(self, window: Window, state: State) -> Finding | None:
        stands = state.of(_UNOWNED)
        known = window.data.infos()
        has_left_over = any(name.startswith(_NOWHERE) for name in known)
        replaced = [name for name in stands if stands[name]["value"] or name in known]
        is_replaced = bool(replaced) or has_left_over
        if not is_replaced and len(stands) >= state.get("owned", 0):
            return None
        names = replaced or list(stands)
        why = (
            ": the optimizer was built before the layer was replaced, and owns the old one"
            if is_replaced
            else ", though others of the same model have one"
        )
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
                "owned": state.get("owned", 0),
                "replaced": is_replaced,
            },
        )

    def _unmoved(self, window: Window, state: State) -> Finding | None:
        stands, sizes = state.of(_UNMOVED), state.of("sizes")
        liveliest = max(sizes.values(), default=0.0)
        if not sizes or liveliest < _CONVERGED * state["lively"]:
            return None
        names = [
            name
            for name, one in stands.items()
            if one["rate"] != 0.0
            and one["since"] <= state["sized"]
            and sizes.get(name, 0.0) >= _ALIVE * liveliest
            and not _is_warming_up(window, int(one["step"]))
        ]
        if not names or len(names) >= len(sizes):
            return None
        first = stands[names[0]]
        rate = "" if first["rate"] is None else f" with a learning rate of {first['rate']:g}"
        return self.finding(
            f"{names_in_words(names)} has not changed in {first['value']:.0f} steps{rate}, though "
            f"its mean absolute gradient is {sizes[names[0]]:.3g}.",
            step=_steps(window, stands),
            tensor=names[0],
            subject=_UNMOVED,
            worker=first["worker"],
            evidence={
                "tensors": some(names),
                "count": len(names),
                "of": len(sizes),
                "learning_rate": first["rate"],
                "gradient": sizes[names[0]],
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


def _is_warming_up(window: Window, since: int) -> bool:
    """Whether learning rates still rise, and the hook has not looked often enough since."""
    if (window.first_step or 0) - since > _LATER_LOOKS:
        return False
    rates = [one.values for one in window.scalars("learning_rate*") if len(one) > 1]
    return any(bool(one[-1] > one[0]) for one in rates)
