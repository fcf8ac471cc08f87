"""MissingZeroGrad: every step adds to the gradients of all steps before."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import begin_leg, is_told_again, over, told

_KIND = "kept-gradients"
_IN_A_ROW = 2  # looks: a script may keep gradients of one step on purpose, to look at them


class MissingZeroGrad(Rule):
    """Gradients add up over steps although the optimizer steps every time.

    Why it matters: every update repeats all updates before it, ever larger and ever older: like
    momentum that never fades. The loss swings or explodes.
    How it decides: when the first backward pass after an optimizer step begins, the gradients of
    before must be gone. It fires where they are not, at 2 looks in a row. Accumulation over several
    backward passes is no fault: there they are cleared after the step. Where several optimizers
    take turns, one keeps its gradients while another works: that is not judged.
    What to do: call optimizer.zero_grad() once for each optimizer.step(), before the backward pass.
    """

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 10
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        "LossDiverging",
        "GradientNormSpike",
        "LossSpike",
        "ExplodingTensor",
        "LossNotDecreasing",
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows what the hook has seen before backward passes."""
        yield from begin_leg(self, window, state)
        looks = window.observations(_KIND)
        optimizers = set(state.get("optimizers", [])) | {one.subject for one in looks}
        state["optimizers"] = sorted(optimizers)
        if len(optimizers) > 1:
            yield from over(self, state, _KIND)
            return
        for one in looks:
            state["looks"] = state.get("looks", 0) + 1
            if one.value > 0:
                state.setdefault("since", one.step)
                state["row"] = state.get("row", 0) + 1
            else:
                state["row"] = 0
                state.pop("since", None)
                yield from over(self, state, _KIND)
        is_due = _KIND not in state.get("told", []) or is_told_again(window)
        if looks and is_due and state.get("row", 0) >= _IN_A_ROW:
            told(state, _KIND)
            yield self._found(looks[-1], state)

    def lacks(self, state: State) -> str:
        """How many looks are missing."""
        seen = state.get("looks", 0)
        return "" if seen >= _IN_A_ROW else f"it has seen {seen} steps; it needs {_IN_A_ROW}"

    def unfit(self, state: State) -> str:
        """Optimizers that take turns."""
        return "several optimizers take turns" if len(state.get("optimizers", [])) > 1 else ""

    def _found(self, one: Observation, state: State) -> Finding:
        facts = one.facts
        of, first = facts.get("of", one.value), str(facts.get("first", ""))
        return self.finding(
            f"Since step {state['since']} gradients are not cleared between two optimizer steps: "
            f"{one.value:.0f} of {of} parameters still had theirs, {first} among them.",
            step=(int(state["since"]), one.step),
            subject=_KIND,
            tensor=first or None,
            worker=one.worker,
            evidence={"parameters": one.value, "of": of, "looks": state["looks"]},
        )
