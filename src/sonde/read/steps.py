"""Steps of one worker and where their time went, phase by phase.

The stretches of the training thread share a step among themselves: an instant belongs to the one
that began last. What is left of the step is `between`. So the phases add up to the step, always.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.read.intervals import own_time_ns
from sonde.read.untimed_steps import nearest_timed, with_estimates
from sonde.read.workers import Marks, Numbers, WorkerReader
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import EventCategory, Phase
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

Seconds = npt.NDArray[np.float64]

MAIN_LANE = "main"
_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "detail")
_PHASES = tuple(phase.value for phase in Phase)


@dataclass(frozen=True)
class StepTable:
    """Finished steps of one worker in one mode, in order; all arrays have one entry per step."""

    worker: int
    mode: str
    steps: Numbers
    starts_ns: Numbers
    durations_ns: Numbers
    phases_ns: dict[str, Numbers]  # all phases there are, and those that the script names
    device_seconds: dict[str, Seconds]  # by the device's own clock; NaN where nothing was measured
    micro_steps: Numbers
    passes: Numbers  # forward passes, of whichever models
    is_skipped: Marks
    is_profiled: Marks  # a profiler was at work, which takes time
    is_timed: Marks  # its phases were; those of others are estimated from timed steps nearby

    @property
    def ends_ns(self) -> Numbers:
        """When each step was finished."""
        return self.starts_ns + self.durations_ns

    def take(self, which: slice) -> "StepTable":
        """Some steps."""
        return StepTable(
            self.worker,
            self.mode,
            steps=self.steps[which],
            starts_ns=self.starts_ns[which],
            durations_ns=self.durations_ns[which],
            phases_ns={name: one[which] for name, one in self.phases_ns.items()},
            device_seconds={name: one[which] for name, one in self.device_seconds.items()},
            micro_steps=self.micro_steps[which],
            passes=self.passes[which],
            is_skipped=self.is_skipped[which],
            is_profiled=self.is_profiled[which],
            is_timed=self.is_timed[which],
        )

    @property
    def is_usual(self) -> Marks:
        """Steps that tell how long steps take: those without a profiler, where there are any."""
        is_usual = ~self.is_profiled
        return is_usual if is_usual.any() else np.ones_like(is_usual)


@dataclass(frozen=True)
class _Rows:
    """Some events, column by column; a name is the number of a text."""

    names: npt.NDArray[np.int32]
    starts_ns: Numbers
    durations_ns: Numbers
    steps: Numbers
    lives: Numbers
    details: npt.NDArray[np.int32]

    def take(self, which: npt.NDArray[Any]) -> "_Rows":
        return _Rows(
            self.names[which],
            self.starts_ns[which],
            self.durations_ns[which],
            self.steps[which],
            self.lives[which],
            self.details[which],
        )

    def clipped(self, starts_ns: Numbers, ends_ns: Numbers) -> "_Rows":
        """Every stretch cut to where it may lie."""
        first = np.clip(self.starts_ns, starts_ns, ends_ns)
        last = np.clip(self.starts_ns + self.durations_ns, first, ends_ns)
        return replace(self, starts_ns=first, durations_ns=last - first)


def read_steps(
    reader: WorkerReader, mode: str, steps: StepRange = ANY_STEP, within: TimeRange = EVER
) -> StepTable:
    """The steps of a worker; of one that was done in several lives the last."""
    only = {"mode": {mode}, "category": {category.value for category in EventCategory}}
    table = reader.folder(EVENTS).rows(within, steps, _COLUMNS, only)
    names, _ = texts_of(table["name"])
    details, _ = texts_of(table["detail"])
    rows = _rows(reader, table)
    categories = table["category"]
    is_main = _is(table["lane"], MAIN_LANE)
    is_phase = _is(categories, EventCategory.PHASE.value, EventCategory.USER.value) & is_main
    is_forward = is_phase & _is(table["name"], Phase.FORWARD.value)
    done = _finished(rows.take(_is(categories, EventCategory.STEP.value)))
    facts = [_facts(text) for text in details] or [{}]
    is_timed = np.array([bool(one.get("timed", True)) for one in facts])[done.details]
    passes = np.bincount(_of_finished(done, rows.take(is_forward))[1], minlength=len(done.steps))
    return StepTable(
        worker=reader.rank,
        mode=mode,
        steps=done.steps,
        starts_ns=done.starts_ns,
        durations_ns=done.durations_ns,
        phases_ns=with_estimates(_phases(done, rows.take(is_phase), names), is_timed),
        device_seconds=_device(done, rows.take(_is(categories, EventCategory.DEVICE.value)), names),
        micro_steps=np.array([one.get("micro_steps", 1) for one in facts])[done.details],
        passes=passes[nearest_timed(is_timed)],
        is_skipped=np.array([bool(one.get("skipped")) for one in facts])[done.details],
        is_profiled=np.array([bool(one.get("profiled")) for one in facts])[done.details],
        is_timed=is_timed,
    )


def _rows(reader: WorkerReader, table: pa.Table) -> _Rows:
    starts_ns, durations_ns = to_numpy(table["start_ns"]), to_numpy(table["duration_ns"])
    return _Rows(
        texts_of(table["name"])[1],
        starts_ns,
        durations_ns,
        to_numpy(table["step"]),
        reader.lives_of(starts_ns + durations_ns),
        texts_of(table["detail"])[1],
    )


def _is(column: pa.ChunkedArray, *texts: str) -> Marks:
    """Which rows hold one of some texts."""
    distinct, numbers = texts_of(column)
    is_wanted = np.array([one in texts for one in distinct], dtype=np.bool_)
    return np.asarray(is_wanted[numbers])


def _finished(rows: _Rows) -> _Rows:
    """Each step once, in order: as the last life, and in it the last word, has it."""
    order = np.lexsort((rows.starts_ns, rows.lives, rows.steps))
    steps = rows.steps[order]
    is_last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    return rows.take(order[is_last])


def _of_finished(done: _Rows, rows: _Rows) -> tuple[_Rows, Numbers]:
    """The stretches that belong to finished steps, and the place of that step."""
    if not len(done.steps):
        return rows.take(np.empty(0, dtype=np.int64)), np.empty(0, dtype=np.int64)
    places = np.minimum(np.searchsorted(done.steps, rows.steps), len(done.steps) - 1)
    is_known = (done.steps[places] == rows.steps) & (done.lives[places] == rows.lives)
    return rows.take(is_known), places[is_known]


def _phases(done: _Rows, rows: _Rows, names: list[str]) -> dict[str, Numbers]:
    inside, places = _of_finished(done, rows)
    # a step's stretches lie in it; one that sticks out must not take time from its neighbour
    ends_ns = (done.starts_ns + done.durations_ns)[places]
    inside = inside.clipped(done.starts_ns[places], ends_ns)
    own_ns = own_time_ns(inside.starts_ns, inside.starts_ns + inside.durations_ns)
    found = {phase: np.zeros(len(done.steps), dtype=np.int64) for phase in _PHASES}
    for number in sorted(set(inside.names.tolist()), key=lambda number: names[number]):
        mine = inside.names == number
        total = found.setdefault(names[number], np.zeros(len(done.steps), dtype=np.int64))
        np.add.at(total, places[mine], own_ns[mine])
    found[Phase.BETWEEN.value] += done.durations_ns - np.sum(list(found.values()), axis=0)
    return found


def _device(done: _Rows, rows: _Rows, names: list[str]) -> dict[str, Seconds]:
    """Time on the devices, added up over them."""
    inside, places = _of_finished(done, rows)
    found: dict[str, Seconds] = {}
    for number in sorted(set(inside.names.tolist()), key=lambda number: names[number]):
        mine = inside.names == number
        total = np.full(len(done.steps), np.nan)
        total[places[mine]] = 0.0
        np.add.at(total, places[mine], inside.durations_ns[mine] / NANOSECONDS)
        found[names[number]] = total
    return found


def _facts(detail: str) -> dict[str, Any]:
    """What was unusual about a step."""
    try:
        found = json.loads(detail) if detail else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
