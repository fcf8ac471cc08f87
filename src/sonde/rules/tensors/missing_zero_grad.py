"""MissingZeroGrad: every step adds to the gradients of all steps before."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import begin_leg, over, told

_KIND = "kept-gradients"
_IN_A_ROW = 2  # looks: a script may keep gradients of one step on purpose, to look at them


class MissingZeroGrad(Rule):
    """Gradients add up over steps although the optimizer steps every time.

    Why it matters: every update repeats all updates before it, ever larger and ever older: like
    momentum that never fades. The loss swings or explodes.
    How it decides: when the first backward pass after an optimizer step begins, the gradients of
    before must be gone. It fires where they are not, at 2 looks in a row. Accumulation over several
    backward passes is no fault: there they are cleared once before the first. Where several
    optimizers take turns, it is enough that each one's are cleared before its own pass. Gradients
    that no pass adds to are handed over by the script, and need not be cleared.
    What to do: call optimizer.zero_grad() once for each optimizer.step(), before the backward pass.
    """

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        "LossDiverging",
        "GradientNormSpike",
        "LossSpike",
        "ExplodingTensor",
        "ParameterOutlier",
        "WeightUpdateRatio",
        "LossNotDecreasing",
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows what the hook has seen before backward passes."""
        yield from begin_leg(self, window, state)
        latest: dict[str, Observation] = {}
        for one in window.observations(_KIND):
            own = state.of("optimizers", one.subject, one.worker)
            own["looks"] = own.get("looks", 0) + 1
            if one.value > 0:
                own.setdefault("since", one.step)
                own["row"] = own.get("row", 0) + 1
            else:
                own["row"] = 0
                own.pop("since", None)
                yield from over(self, state, one.subject)
            if own["row"] >= _IN_A_ROW:
                latest.setdefault(one.subject, one)
        for subject, one in latest.items():
            told(state, subject)
            yield self._found(one, state.of("optimizers", one.subject, one.worker))

    def lacks(self, state: State) -> str | Shortfall:
        """How many looks are missing."""
        seen = max((int(own["looks"]) for own in _all(state)), default=0)
        return "" if seen >= _IN_A_ROW else Shortfall(seen, _IN_A_ROW, DataUnit.INSPECTIONS)

    def _found(self, one: Observation, own: State) -> Finding:
        facts = one.facts
        of, first = facts.get("of", one.value), str(facts.get("first", ""))
        return self.finding(
            f"Since step {own['since']} gradients are not cleared between two steps of optimizer "
            f"{one.subject}: {one.value:.0f} of {of} parameters still had theirs, {first} among "
            "them.",
            step=(int(own["since"]), one.step),
            subject=one.subject,
            tensor=first or None,
            worker=one.worker,
            evidence={"parameters": one.value, "of": of, "looks": own["looks"]},
        )


def _all(state: State) -> Iterator[State]:
    for workers in state.of("optimizers").values():
        yield from workers.values()
