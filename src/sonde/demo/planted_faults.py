"""The planted faults of the PyTorch demo, as they appear in the recorded data."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde.client.job import Job
from sonde.formats import format_duration, pluralize
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import UnitActivity, UnownedParameter

SAVE = "gradients:every=20,histogram"
_ALWAYS_ZERO_PERCENT = 0.1  # of samples with a nonzero output; the lowest that is counted
_NEVER = 1 << 62
_BEFORE, _AFTER = 20, 5  # steps around a high learning rate whose losses are compared


@dataclass(frozen=True)
class Trace:
    """The trace of a planted fault in the recorded data."""

    fault: str
    query: str  # the call that shows it
    text: str
    numbers: dict[str, object] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, object]:
        """The trace as JSON."""
        return {"fault": self.fault, "query": self.query, **self.numbers}


def traces(job: Job) -> list[Trace]:
    """One trace per fault, in order of occurrence."""
    finders: tuple[tuple[str, str, Callable[[Job], tuple[str, dict[str, object]]]], ...] = (
        ("dead layer", "job.observations('unit-activity')", _dead),
        ("forgotten layer", "job.observations('unowned-parameter')", _unowned),
        ("slow data loader", "job.steps().slowest()", _slow_steps),
        ("learning rate spike", "job.scalars('learning_rate/*'), job.losses", _spike),
    )
    return [Trace(fault, query, *find(job)) for fault, query, find in finders]


def inside(job: Job) -> Iterator[str]:
    """Data recorded inside the process, each under the call that shows it."""
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
    dead = {row["subject"]: int(row["value"]) for row in rows if _is_dead(row)}
    if not dead:
        return "not found", {"outputs": []}
    [(name, units), *_] = dead.items()
    return f"{name}: all {units} units always output zero", {"outputs": sorted(dead)}


def _is_dead(row: Mapping[str, Any]) -> bool:
    """Whether all units output zero for all samples."""
    activity = UnitActivity.decode(row["detail"])
    return bool(activity.inactive_below(_ALWAYS_ZERO_PERCENT) == row["value"])


def _unowned(job: Job) -> tuple[str, dict[str, object]]:
    table = job.observations(ObservationKind.UNOWNED_PARAMETER).to_arrow()
    names = sorted({row["subject"] for row in table.to_pylist() if not _is_over(row)})
    if not names:
        return "not found", {"parameters": []}
    text = f"{', '.join(names)}: not in any optimizer, so the parameters never change"
    return text, {"parameters": names}


def _is_over(row: Mapping[str, Any]) -> bool:
    return UnownedParameter.decode(row["detail"]).is_over


def _slow_steps(job: Job) -> tuple[str, dict[str, object]]:
    table = job.steps().to_arrow()
    waits, steps = (np.array(table[name]) for name in ("data_wait", "step"))
    # 20% of the steps are slow, so the 95th percentile is one of them
    is_slow = waits > np.percentile(waits, 95) / 2 if len(waits) else waits > 0
    if is_slow.all() or not is_slow.any():
        return "not found", {}
    normal, during = float(np.median(waits[~is_slow])), float(np.median(waits[is_slow]))
    first, last = int(steps[is_slow].min()), int(steps[is_slow].max())
    text = (
        f"steps {first} to {last} waited {format_duration(during)} for data, "
        f"other steps {format_duration(normal)}"
    )
    return text, {"first_step": first, "last_step": last, "usual": normal, "during": during}


def _spike(job: Job) -> tuple[str, dict[str, object]]:
    table = job.scalars("learning_rate/*").to_arrow()
    rates, steps = (np.array(table[name]) for name in ("value", "step"))
    usual_rate = np.median(rates) if len(rates) else np.nan
    is_high = rates > 2 * usual_rate
    first = int(steps[is_high].min(initial=_NEVER))
    # a rate is recorded when it changes, so it applies until the next one
    last = int(steps[(steps > first) & ~is_high].min(initial=_NEVER)) - 1
    losses = dict(job.losses.reduced())
    before = [loss for step, loss in losses.items() if first - _BEFORE <= step < first]
    nearby = {step: loss for step, loss in losses.items() if first <= step <= last + _AFTER}
    if not (before and nearby):
        return "not found", {}
    normal = float(np.median(before))
    highest = max(nearby, key=nearby.__getitem__)
    text = f"{rates.max():g} instead of {usual_rate:g} from step {first}"
    if losses[highest] > normal:
        text += f"; the loss rose from {normal:.3g} to {losses[highest]:.3g} at step {highest}"
    return text, {
        "first_step": first,
        "last_step": last,
        "usual": normal,
        "during": losses[highest],
    }
