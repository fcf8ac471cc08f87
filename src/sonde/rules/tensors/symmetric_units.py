"""SymmetricUnits: the units of a layer are copies of each other, and stay so."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations, Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import BEGINNINGS, another_began
from sonde.rules.tensors._standing import (
    begin_leg,
    is_told_again,
    names_in_words,
    over,
    some,
    told,
)

_KIND = "unit-copies"
_SUBJECT = "units"
_MOST_GROUPS = 4  # rounding may split copies into a few groups, by the edges of a kernel's tiles
_LEAST_PER_GROUP = 4
_IN_A_ROW = 3  # looks, after the first updates
_STUCK_LAYERS = 2  # with a gradient of zero: one alone may be gated
_FIRST_LOOKS_UNTIL = 8  # steps: what begins different is no constant initialization


class SymmetricUnits(Rule):
    """The units of a layer are copies of each other and stay so.

    Why it matters: a layer of equal units is as good as one unit. Constant initialization makes
    them equal, and equal units get equal gradients: no number of steps tells them apart.
    How it decides: the hook counts how many rows of a weight are different. It fires where a layer
    of at least 4 units begins with copies, in the first steps or in those of another optimizer, and
    still has no others at 3 looks after updates, while its gradient is not zero; or where the
    gradients of two such layers or more are zero at all looks, as where all weights begin as zeros
    and each keeps the others from learning. A layer that begins at zero and then moves apart, as
    output layers and residual branches do, is left alone.
    What to do: initialize weights at random (nn.init.kaiming_uniform_, xavier_uniform_); zeros and
    ones are for biases and for the last layer of a branch.
    """

    needs = (Observations(_KIND), Statistics("gradients"), *BEGINNINGS)
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing", "PoorWeightInitialization")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows how many different units each layer has."""
        yield from begin_leg(self, window, state)
        began = another_began(window, state)
        layers = state.of("layers")
        looks = window.observations(_KIND)
        for one in looks:
            units = int(one.facts.get("units", 0))
            is_copied = one.value <= max(1, min(_MOST_GROUPS, units // _LEAST_PER_GROUP))
            own = layers.of(one.subject)
            if "looks" not in own:
                is_first = any(
                    0 <= one.step - start <= _FIRST_LOOKS_UNTIL for start in (0, began or 0)
                )
                own |= {"looks": 0, "began": is_copied and is_first, "first": one.step}
            own["looks"] += one.step > own.get("last", 0)  # workers look at the same steps
            own["began"] = own["began"] and is_copied
            own |= {"units": units, "distinct": one.value, "last": one.step}
        if looks:
            self._learn(window, state)
        names = self._sure(state)
        if not names:
            yield from over(self, state, _SUBJECT)
        elif names != state.get("names") or (looks and is_told_again(window)):
            told(state, _SUBJECT)
            yield self._found(names, state)
        state["names"] = names

    def lacks(self, state: State) -> str | Shortfall:
        """How many looks are missing."""
        seen = max((int(one["looks"]) for one in state.of("layers").values()), default=0)
        return "" if seen >= _IN_A_ROW else Shortfall(seen, _IN_A_ROW, DataUnit.INSPECTIONS)

    def _learn(self, window: Window, state: State) -> None:
        """Which layers that began with copies get gradients that are not zero."""
        wanted = [name for name, one in state.of("layers").items() if one["began"]]
        if not wanted:
            return
        pulled, stuck = state.of("pulled"), state.of("stuck")
        for tensor in window.tensors("gradients"):
            name = tensor.name.removeprefix("gradient/")
            if name in wanted and tensor.is_matrix:
                sizes = tensor.values("abs_mean")
                pulled[name] = pulled.get(name, 0) + int((sizes > 0).sum())
                stuck[name] = stuck.get(name, 0) + int((sizes == 0).sum())

    def _sure(self, state: State) -> list[str]:
        """The layers of copies: those that learn as such, then those that cannot learn."""
        pulled, stuck = state.of("pulled"), state.of("stuck")
        copied = [
            name
            for name, one in state.of("layers").items()
            if one["began"] and one["looks"] >= _IN_A_ROW
        ]
        found = [name for name in copied if pulled.get(name, 0) >= _IN_A_ROW]
        never = [one for one in copied if not pulled.get(one, 0) and stuck.get(one, 0) >= _IN_A_ROW]
        return [*found, *never] if len(never) >= _STUCK_LAYERS else found

    def _found(self, names: list[str], state: State) -> Finding:
        layers = state.of("layers")
        first = layers[names[0]]
        return self.finding(
            f"{names_in_words(names)}: of {first['units']} units {first['distinct']:.0f} are "
            f"different, after {first['last'] - first['first']} steps as at the beginning.",
            step=(int(first["first"]), int(first["last"])),
            tensor=names[0],
            subject=_SUBJECT,
            evidence={
                "tensors": some(names),
                "count": len(names),
                "units": first["units"],
                "distinct": first["distinct"],
            },
        )
