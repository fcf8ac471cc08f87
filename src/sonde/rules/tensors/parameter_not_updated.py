"""ParameterNotUpdated: a parameter gets gradients but does not change."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import OwnershipFault, UnmovedParameter, UnownedParameter
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

_UNOWNED = ObservationKind.UNOWNED_PARAMETER.value
_UNMOVED = ObservationKind.UNMOVED_PARAMETER.value
_RECORDS: dict[str, type[UnownedParameter | UnmovedParameter]] = {
    _UNOWNED: UnownedParameter,
    _UNMOVED: UnmovedParameter,
}
_ORPHAN_PREFIX = "optimizer_"  # the hook's name for parameters of no module


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ParameterNotUpdated.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    all_share: float = 0.9  # of the parameters; above it, nothing moves: see other rules
    max_sampled: int = 256  # parameters that the hook compares per inspection
    inspection_steps: int = 5  # optimizer steps over which the hook compares parameters


LIMITS = Calibration()


class ParameterNotUpdated(Rule):
    """A parameter gets gradients but does not change, while others do.

    Why it matters: Part of the model stays as it was initialized. The loss often falls anyway, so
    this goes unnoticed.
    How it decides:
    - Not in any optimizer: critical if the parameter replaced another one; a warning if its layer
      is in a plain list or dict, or if the optimizer holds at least as many other parameters.
    - In an optimizer: the parameter does not move in 10 steps while others do, because its learning
      rate is zero, or although gradient times learning rate is larger than rounding.
    - The hook compares samples of every parameter over 5 optimizer steps.
    - Not applied if most of the model is left out (only a head is trained), or if 90% of the
      parameters do not move.
    What to do: Create the optimizer after the model is complete and on its device, and pass it
    `model.parameters()`. Set `requires_grad` to False for layers that should not learn.
    """

    section = Section.MODEL
    calibration = LIMITS
    needs = (Observations(_UNOWNED), Observations(_UNMOVED))
    window_steps: ClassVar[int] = 1
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("UnchangedTensor", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Process the hook's observations and yield open findings."""
        yield from begin_attempt(self, window, state)
        window.count_inspected_steps()
        for kind, create_finding in (
            (_UNOWNED, self._unowned_finding),
            (_UNMOVED, self._unmoved_finding),
        ):
            has_changed = self._update_faults(window, kind, state)
            if not state.of(kind):
                yield from resolve(self, state, kind)
            elif has_changed or is_repeat_due(window):
                finding = create_finding(window, state)
                if finding is not None:
                    mark_open(state, kind)
                    yield finding

    def _update_faults(self, window: Window, kind: str, state: State) -> bool:
        open_faults = state.of(kind)
        observations = window.observations(kind)
        for observation in observations:
            record = _RECORDS[kind].of(observation)
            if record.is_over:
                open_faults.pop(observation.subject, None)
            elif observation.subject not in open_faults:
                open_faults[observation.subject] = _new_fault(observation, record)
        return bool(observations)

    def _unowned_finding(self, window: Window, state: State) -> Finding | None:
        open_faults = state.of(_UNOWNED)
        infos = window.data.infos()
        has_orphans = any(name.startswith(_ORPHAN_PREFIX) for name in infos)
        unregistered = [
            name
            for name, fault in open_faults.items()
            if fault["value"] == OwnershipFault.UNREGISTERED
        ]
        registered = [name for name in open_faults if name not in unregistered]
        replaced = [name for name in registered if open_faults[name]["value"] or name in infos]
        is_replaced = bool(replaced) or (has_orphans and bool(registered))
        owned = _count_owned(window)
        if not (is_replaced or unregistered) and len(open_faults) > owned:
            return None
        names = replaced or unregistered or list(open_faults)
        reason = ", unlike the model's other parameters"
        if is_replaced:
            reason = (
                ": the optimizer was created before the layer was replaced and holds the old one"
            )
        elif unregistered:
            reason = ": its layer is in a plain list or dict, which parameters() does not search"
        verb = "is" if len(names) == 1 else "are"
        return self.finding(
            f"{summarize_names(names)} {verb} not in any optimizer and never updated{reason}.",
            severity=Severity.CRITICAL if is_replaced else Severity.WARNING,
            step=_steps(window, open_faults),
            tensor=names[0],
            subject=_UNOWNED,
            worker=open_faults[names[0]]["worker"],
            evidence={
                "tensors": first_names(names),
                "count": len(open_faults),
                "owned": owned,
                "replaced": is_replaced,
            },
        )

    def _unmoved_finding(self, window: Window, state: State) -> Finding | None:
        open_faults, owned = state.of(_UNMOVED), _count_owned(window)
        names = list(open_faults)
        if len(names) >= LIMITS.all_share * min(owned, LIMITS.max_sampled):
            return None  # nothing moves, which other rules report
        first = open_faults[names[0]]
        rate = "" if first["rate"] is None else f" with a learning rate of {first['rate']:g}"
        return self.finding(
            f"{summarize_names(names)} {'has' if len(names) == 1 else 'have'} not changed in "
            f"{first['value']:.0f} steps{rate} despite having gradients; other parameters "
            "have changed.",
            step=_steps(window, open_faults),
            tensor=names[0],
            subject=_UNMOVED,
            worker=first["worker"],
            evidence={
                "tensors": first_names(names),
                "count": len(names),
                "of": owned,
                "learning_rate": first["rate"],
            },
            advice="Check whether something writes old values back after each step, whether the "
            "learning rate is far too small, or whether the data type is too coarse for such "
            "updates (keep master weights in float32).",
        )


def _new_fault(observation: Observation, record: UnownedParameter | UnmovedParameter) -> State:
    rate = record.learning_rate if isinstance(record, UnmovedParameter) else None
    steps = observation.value if observation.kind == _UNMOVED else LIMITS.inspection_steps
    since = max(0, observation.step - int(steps))
    return State(
        step=observation.step,
        since=since,
        value=observation.value,
        worker=observation.worker,
        rate=rate,
    )


def _steps(window: Window, state: State) -> tuple[int, int]:
    first = min(int(fault["since"]) for fault in state.values())
    last = max(int(fault["step"]) for fault in state.values())
    return first, max(last, window.first_step or 0)


def _count_owned(window: Window) -> int:
    """Return the number of parameters with gradients that an optimizer has."""
    return sum(map(is_gradient, window.data.infos()))
