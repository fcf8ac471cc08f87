"""NoGradient: a parameter gets no gradient while others do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.formats import pluralize
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import LayerUse, MissingGradient
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.open_faults import (
    begin_attempt,
    first_names,
    is_repeat_due,
    mark_open,
    resolve,
    summarize_names,
)
from sonde.rules.measures.tensor_selection import is_gradient

_KIND = ObservationKind.NO_GRADIENT.value
_WARNINGS = (LayerUse.CUT, LayerUse.UNTRACKED, LayerUse.CLEARED)
_IMMEDIATE = (*_WARNINGS, LayerUse.FROZEN, LayerUse.SIDE)
_REASONS: dict[str, str] = {
    LayerUse.CUT: ". Its layer runs, but its output is detached from the loss",
    LayerUse.UNTRACKED: ". Its layer runs under no_grad(){place} with untrained weights",
    LayerUse.FROZEN: (
        ". Its layer runs under no_grad(){place}, but its parameters are in an optimizer"
    ),
    LayerUse.SIDE: ". Its layer runs, but the loss does not use its output",
    LayerUse.UNUSED: ". Its layer never runs",
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of NoGradient.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    unused_steps: int = 200  # a layer may be used only occasionally


LIMITS = Calibration()


class NoGradient(Rule):
    """A parameter gets no gradient while other parameters of the model do.

    Why it matters: It never learns. A `detach()`, a conversion to NumPy, an argmax or a leftover
    `no_grad()` in the forward pass cuts off everything before it.
    How it decides:
    - A parameter of an optimizer has no gradient in 6 steps in a row.
    - A warning if its layer runs before all layers that learn, if its layer runs under `no_grad()`
      with untrained weights, or if gradients are cleared between the backward pass and `step()`.
    - `info` if its layer runs after layers that learn but the loss does not use its output, if it
      runs under `no_grad()` with pretrained weights, or if it has not run for 200 steps.
    - Not applied to parameters with `requires_grad=False` or without an optimizer, and to copies
      that other code updates.
    What to do: Look for `detach()`, `.data`, `.item()`, `.numpy()`, argmax or `no_grad()` between
    this layer and the loss. If it is meant to be frozen, set `requires_grad` to False. If it is
    unused, remove it.
    """

    section = Section.MODEL
    calibration = LIMITS
    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 1
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("UnchangedTensor", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Process the hook's observations and yield open findings."""
        yield from begin_attempt(self, window, state)
        window.count_inspected_steps()
        faults = state.of("stands")
        for observation in window.observations(_KIND):
            missing = MissingGradient.of(observation)
            is_known = missing.use is not LayerUse.FROZEN or missing.at_every_step
            if missing.is_over:
                faults.pop(observation.subject, None)
            elif observation.subject not in faults and is_known:
                since = max(0, observation.step - int(observation.value) + 1)
                use, line = missing.use.value, missing.line
                fault = State(since=since, worker=observation.worker, use=use, place=line)
                faults[observation.subject] = fault
        names = [name for name in faults if self._is_confirmed(faults[name], window)]
        # warnings first
        names.sort(key=lambda name: faults[name]["use"] not in _WARNINGS)
        if not names:
            yield from resolve(self, state, _KIND)
        elif names != state.get("names") or is_repeat_due(window):
            mark_open(state, _KIND)
            yield self._finding(names, window, state)
        state["names"] = names

    def _is_confirmed(self, state: State, window: Window) -> bool:
        if state["use"] in _IMMEDIATE:
            return True
        return (window.first_step or 0) - int(state["since"]) >= LIMITS.unused_steps

    def _finding(self, names: list[str], window: Window, state: State) -> Finding:
        faults = state.of("stands")
        other_count = sum(map(is_gradient, window.data.infos()))
        first = min(int(faults[name]["since"]) for name in names)
        is_cut = any(faults[name]["use"] in _WARNINGS for name in names)
        location = faults[names[0]].get("place", "")
        place = location and f" at {location}"
        reason = _REASONS.get(faults[names[0]]["use"], "").format(place=place)
        verb = "has" if len(names) == 1 else "have"
        text = (
            f"{summarize_names(names)} {verb} had no gradient since step {first}, "
            f"unlike {pluralize(other_count, 'other parameter')}{reason}."
        )
        if faults[names[0]]["use"] == LayerUse.CLEARED:
            text = (
                f"Since step {first} the optimizer steps without gradients: they are cleared after "
                "the backward pass and before step()."
            )
        return self.finding(
            text,
            severity=Severity.WARNING if is_cut else Severity.INFO,
            step=(first, max(first, window.first_step or 0)),
            tensor=names[0],
            worker=faults[names[0]]["worker"],
            subject=_KIND,
            evidence={
                "tensors": first_names(names),
                "count": len(names),
                "others": other_count,
                "is_cut": is_cut,
            },
        )
