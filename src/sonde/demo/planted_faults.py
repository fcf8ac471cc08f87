"""What `sonde demo` tells of a PyTorch training: the planted faults, found again in the record."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from sonde.client.job import Job
from sonde.formats import format_duration, pluralize
from sonde.records.observation import ObservationKind

SAVE = "gradients:every=20,histogram"
_NEVER = 1 << 62
_BEFORE, _AFTER = 20, 5  # steps before and after a high learning rate that its losses are from


@dataclass(frozen=True)
class Trace:
    """What is left of a planted fault in the record."""

    fault: str
    asked: str  # what to ask the job for
    text: str
    numbers: dict[str, object] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, object]:
        """As JSON."""
        return {"fault": self.fault, "asked": self.asked, **self.numbers}


def traces(job: Job) -> list[Trace]:
    """One per fault, in the order in which they begin."""
    looks: tuple[tuple[str, str, Callable[[Job], tuple[str, dict[str, object]]]], ...] = (
        ("dead layer", "job.observations('unit-activity')", _dead),
        ("forgotten layer", "job.observations('unowned-parameter')", _unowned),
        ("slow data loader", "job.steps().slowest()", _slow_steps),
        ("spike of the learning rate", "job.scalars('learning_rate/*'), job.losses", _spike),
    )
    return [Trace(fault, asked, *look(job)) for fault, asked, look in looks]


def inside(job: Job) -> Iterator[str]:
    """What was recorded from inside, under the questions that a person would ask."""
    yield f"job.losses\n{job.losses}"
    yield f"job.steps().slowest(3)\n{job.steps().slowest(3)}"
    for name in list(job.tensors("gradient/body*.weight"))[:1]:
        norms = job.tensor(name).reduction("l2_norm")
        yield f"job.tensor({name!r}).reduction('l2_norm')  # one of {_tensors(job)}\n{norms}"
    yield f"job.observations()\n{job.observations()}"


def _tensors(job: Job) -> str:
    return pluralize(len(list(job.tensors())), "tensor")


def _dead(job: Job) -> tuple[str, dict[str, object]]:
    rows = job.observations(ObservationKind.UNIT_ACTIVITY).to_arrow().to_pylist()
    dead = {row["subject"]: int(row["value"]) for row in rows if _silent(row) == row["value"]}
    if not dead:
        return "not seen", {"outputs": []}
    [(name, units), *_] = dead.items()
    return f"{name}: none of its {units} units is ever above zero", {"outputs": sorted(dead)}


def _silent(row: Mapping[str, str]) -> float:
    """Units of an activation function that are nought in all samples."""
    silent: float = json.loads(row["detail"])["inactive"]["0.1"]
    return silent


def _unowned(job: Job) -> tuple[str, dict[str, object]]:
    table = job.observations(ObservationKind.UNOWNED_PARAMETER).to_arrow()
    names = sorted({row["subject"] for row in table.to_pylist() if row["detail"] != "over"})
    if not names:
        return "not seen", {"parameters": []}
    text = f"{', '.join(names)}: gradients come, but no optimizer owns them and they never change"
    return text, {"parameters": names}


def _slow_steps(job: Job) -> tuple[str, dict[str, object]]:
    table = job.steps().to_arrow()
    waits, steps = (np.array(table[name]) for name in ("data_wait", "step"))
    # a fifth of the steps are slow, so this lies among them, whatever else was slow once
    is_slow = waits > np.percentile(waits, 95) / 2 if len(waits) else waits > 0
    if is_slow.all() or not is_slow.any():
        return "not seen", {}
    usual, during = float(np.median(waits[~is_slow])), float(np.median(waits[is_slow]))
    first, last = int(steps[is_slow].min()), int(steps[is_slow].max())
    text = (
        f"steps {first} to {last} waited {format_duration(during)} for their data, "
        f"the others {format_duration(usual)}"
    )
    return text, {"first_step": first, "last_step": last, "usual": usual, "during": during}


def _spike(job: Job) -> tuple[str, dict[str, object]]:
    table = job.scalars("learning_rate/*").to_arrow()
    rates, steps = (np.array(table[name]) for name in ("value", "step"))
    usual_rate = np.median(rates) if len(rates) else np.nan
    is_high = rates > 2 * usual_rate
    first = int(steps[is_high].min(initial=_NEVER))
    # a rate is recorded when it changes, so it lasts until the next one
    last = int(steps[(steps > first) & ~is_high].min(initial=_NEVER)) - 1
    losses = dict(job.losses.reduced())
    before = [loss for step, loss in losses.items() if first - _BEFORE <= step < first]
    around = {step: loss for step, loss in losses.items() if first <= step <= last + _AFTER}
    if not (before and around):
        return "not seen", {}
    usual = float(np.median(before))
    highest = max(around, key=around.__getitem__)
    text = (
        f"{rates.max():g} instead of {usual_rate:g} from step {first} on; "
        f"the loss went from {usual:.2g} to {losses[highest]:.3g} at step {highest}"
    )
    return text, {"first_step": first, "last_step": last, "usual": usual, "during": losses[highest]}
