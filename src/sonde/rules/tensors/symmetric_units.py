"""SymmetricUnits: the units of a layer are copies of each other and stay that way."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations, Statistics
from sonde.records.observations.parameters import DistinctUnits
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.open_faults import (
    begin_attempt,
    first_names,
    is_repeat_due,
    mark_open,
    resolve,
    summarize_names,
)
from sonde.rules.measures.training_kind import RESTARTS, latest_restart

_KIND = "unit-copies"
_SUBJECT = "units"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of SymmetricUnits.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_groups: int = 4  # rounding in kernel tiles may split copies into groups
    min_units_per_group: int = 4
    inspections_in_a_row: int = 3  # after the first updates
    stuck_layers: int = 2  # with a zero gradient; a single one may be gated
    initial_steps: int = 8  # copies that appear later do not come from initialization


LIMITS = Calibration()


class SymmetricUnits(Rule):
    """The units of a layer are copies of each other and stay that way.

    Why it matters: A layer of equal units computes no more than one unit. Constant initialization
    makes them equal, and equal units get equal gradients forever.
    How it decides:
    - In the first 8 steps, of the job or of a new optimizer, the rows of a weight matrix with at
      least 4 rows are copies of each other.
    - They are still copies at 3 inspections after updates, and the layer's gradient is not zero.
    - Or the gradients of 2 or more such layers are zero at all inspections, as with weights that
      are all zero.
    - Layers that start equal and then differ do not count (output layers, residual branches).
    What to do: Initialize weights randomly (`nn.init.kaiming_uniform_`, `xavier_uniform_`). Use
    zeros and ones only for biases and for the last layer of a residual branch.
    """

    section = Section.MODEL
    calibration = LIMITS
    needs = (Observations(_KIND), Statistics("gradients"), *RESTARTS)
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing", "PoorWeightInitialization")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Record how many distinct units each layer has and report layers of copies."""
        yield from begin_attempt(self, window, state)
        began = latest_restart(window, state)
        layers = state.of("layers")
        inspections = window.observations(_KIND)
        for inspection in inspections:
            units = DistinctUnits.of(inspection).units
            is_copied = inspection.value <= max(
                1, min(LIMITS.max_groups, units // LIMITS.min_units_per_group)
            )
            layer_state = layers.of(inspection.subject)
            if "looks" not in layer_state:
                is_first = any(
                    0 <= inspection.step - start <= LIMITS.initial_steps
                    for start in (0, began or 0)
                )
                layer_state |= {
                    "looks": 0,
                    "began": is_copied and is_first,
                    "first": inspection.step,
                }
            # workers inspect the same steps
            layer_state["looks"] += inspection.step > layer_state.get("last", 0)
            layer_state["began"] = layer_state["began"] and is_copied
            layer_state |= {"units": units, "distinct": inspection.value, "last": inspection.step}
        if inspections:
            self._count_gradients(window, state)
        names = self._confirmed_layers(state)
        if not names:
            yield from resolve(self, state, _SUBJECT)
        elif names != state.get("names") or (inspections and is_repeat_due(window)):
            mark_open(state, _SUBJECT)
            yield self._finding(names, state)
        state["names"] = names

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing."""
        count = max((int(layer["looks"]) for layer in state.of("layers").values()), default=0)
        return (
            ""
            if count >= LIMITS.inspections_in_a_row
            else Shortfall(count, LIMITS.inspections_in_a_row, DataUnit.INSPECTIONS)
        )

    def _count_gradients(self, window: Window, state: State) -> None:
        """Count zero and nonzero gradients of the layers that started as copies."""
        names = [name for name, item in state.of("layers").items() if item["began"]]
        if not names:
            return
        nonzero, zero = state.of("pulled"), state.of("stuck")
        for tensor in window.tensors("gradients"):
            name = tensor.name.removeprefix("gradient/")
            if name in names and tensor.is_matrix:
                sizes = tensor.values("abs_mean")
                nonzero[name] = nonzero.get(name, 0) + int((sizes > 0).sum())
                zero[name] = zero.get(name, 0) + int((sizes == 0).sum())

    def _confirmed_layers(self, state: State) -> list[str]:
        """Return the layers that stay copies: first those that learn, then those that cannot."""
        nonzero, zero = state.of("pulled"), state.of("stuck")
        copied = [
            name
            for name, item in state.of("layers").items()
            if item["began"] and item["looks"] >= LIMITS.inspections_in_a_row
        ]
        learning = [name for name in copied if nonzero.get(name, 0) >= LIMITS.inspections_in_a_row]
        stuck = [
            name
            for name in copied
            if not nonzero.get(name, 0) and zero.get(name, 0) >= LIMITS.inspections_in_a_row
        ]
        return [*learning, *stuck] if len(stuck) >= LIMITS.stuck_layers else learning

    def _finding(self, names: list[str], state: State) -> Finding:
        layers = state.of("layers")
        first = layers[names[0]]
        return self.finding(
            f"{summarize_names(names)}: only {first['distinct']:.0f} of {first['units']} units "
            f"{'is' if first['distinct'] == 1 else 'are'} distinct, unchanged after "
            f"{first['last'] - first['first']} steps.",
            step=(int(first["first"]), int(first["last"])),
            tensor=names[0],
            subject=_SUBJECT,
            evidence={
                "tensors": first_names(names),
                "count": len(names),
                "units": first["units"],
                "distinct": first["distinct"],
            },
        )
