"""Steps of one worker and the time of each phase.

Every instant of a step belongs to the phase that began last. The remaining time is `between`. So
the phases of a step always add up to its duration.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.analyze.durations import representative_steps
from sonde.clock import NANOSECONDS
from sonde.read.intervals import exclusive_time_ns
from sonde.read.untimed_steps import nearest_timed, with_estimates
from sonde.read.workers import WorkerReader
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import EventCategory, Phase
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

MAIN_LANE = "main"
_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "detail")
_PHASES = tuple(phase.value for phase in Phase)


@dataclass(frozen=True)
class StepTable:
    """Finished steps of one worker in one mode, in order, as columns."""

    worker: int
    mode: str
    steps: IntArray
    starts_ns: IntArray
    durations_ns: IntArray
    phases_ns: dict[str, IntArray]  # all built-in phases, and custom phases of the script
    device_seconds: dict[str, FloatArray]  # measured on the device; NaN if not measured
    micro_steps: IntArray
    passes: IntArray  # forward passes of all models
    is_skipped: BoolArray
    is_profiled: BoolArray  # a profiler was running, which slows steps down
    is_timed: BoolArray  # phases were measured; else they are estimated from timed steps nearby

    @property
    def ends_ns(self) -> IntArray:
        """When each step finished."""
        return self.starts_ns + self.durations_ns

    def take(self, which: slice) -> "StepTable":
        """A subset of the steps."""
        return StepTable(
            self.worker,
            self.mode,
            steps=self.steps[which],
            starts_ns=self.starts_ns[which],
            durations_ns=self.durations_ns[which],
            phases_ns={name: column[which] for name, column in self.phases_ns.items()},
            device_seconds={name: column[which] for name, column in self.device_seconds.items()},
            micro_steps=self.micro_steps[which],
            passes=self.passes[which],
            is_skipped=self.is_skipped[which],
            is_profiled=self.is_profiled[which],
            is_timed=self.is_timed[which],
        )

    @property
    def is_representative(self) -> BoolArray:
        """Steps with representative durations: unprofiled steps, or all if none is."""
        return representative_steps(self.is_profiled)


@dataclass(frozen=True)
class _Rows:
    """Events as columns; names and details are indices of distinct texts."""

    names: npt.NDArray[np.int32]
    starts_ns: IntArray
    durations_ns: IntArray
    steps: IntArray
    lives: IntArray
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

    def clipped(self, starts_ns: IntArray, ends_ns: IntArray) -> "_Rows":
        """Events clipped to the given bounds."""
        first = np.clip(self.starts_ns, starts_ns, ends_ns)
        last = np.clip(self.starts_ns + self.durations_ns, first, ends_ns)
        return replace(self, starts_ns=first, durations_ns=last - first)


def read_steps(
    reader: WorkerReader, mode: str, steps: StepRange = ANY_STEP, within: TimeRange = EVER
) -> StepTable:
    """The steps of a worker; a step that was repeated after a restart replaces the earlier one."""
    only = {"mode": {mode}, "category": {category.value for category in EventCategory}}
    table = reader.folder(EVENTS).rows(within, steps, _COLUMNS, only)
    names, _ = texts_of(table["name"])
    details, _ = texts_of(table["detail"])
    rows = _rows(reader, table)
    categories = table["category"]
    is_main = _is_any_of(table["lane"], MAIN_LANE)
    is_phase = _is_any_of(categories, EventCategory.PHASE.value, EventCategory.USER.value) & is_main
    is_forward = is_phase & _is_any_of(table["name"], Phase.FORWARD.value)
    finished = _finished(rows.take(_is_any_of(categories, EventCategory.STEP.value)))
    facts = [_facts(text) for text in details] or [{}]
    is_timed = _flags(facts, "timed", finished.details, default=True)
    passes = np.bincount(
        _events_of_finished(finished, rows.take(is_forward))[1], minlength=len(finished.steps)
    )
    return StepTable(
        worker=reader.rank,
        mode=mode,
        steps=finished.steps,
        starts_ns=finished.starts_ns,
        durations_ns=finished.durations_ns,
        phases_ns=with_estimates(_phases(finished, rows.take(is_phase), names), is_timed),
        device_seconds=_device(
            finished, rows.take(_is_any_of(categories, EventCategory.DEVICE.value)), names
        ),
        micro_steps=np.array([step_facts.get("micro_steps", 1) for step_facts in facts])[
            finished.details
        ],
        passes=passes[nearest_timed(is_timed)],
        is_skipped=_flags(facts, "skipped", finished.details),
        is_profiled=_flags(facts, "profiled", finished.details),
        is_timed=is_timed,
    )


def read_step_seconds(reader: WorkerReader, mode: str) -> FloatArray:
    """The durations of the steps with representative durations; faster than with phases."""
    only = {"mode": {mode}, "category": {EventCategory.STEP.value}}
    table = reader.folder(EVENTS).rows(columns=_COLUMNS, only=only)
    details, _ = texts_of(table["detail"])
    finished = _finished(_rows(reader, table))
    facts = [_facts(text) for text in details] or [{}]
    is_profiled = _flags(facts, "profiled", finished.details)
    return finished.durations_ns[representative_steps(is_profiled)] / NANOSECONDS


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


def _is_any_of(column: pa.ChunkedArray, *texts: str) -> BoolArray:
    """Which rows hold one of the given texts."""
    distinct, numbers = texts_of(column)
    is_match = np.array([text in texts for text in distinct], dtype=np.bool_)
    return np.asarray(is_match[numbers])


def _finished(rows: _Rows) -> _Rows:
    """Each step once, in order: the last record of the last attempt."""
    order = np.lexsort((rows.starts_ns, rows.lives, rows.steps))
    steps = rows.steps[order]
    is_last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    return rows.take(order[is_last])


def _events_of_finished(finished: _Rows, rows: _Rows) -> tuple[_Rows, IntArray]:
    """The events that belong to finished steps, and the indices of these steps."""
    if not len(finished.steps):
        return rows.take(np.empty(0, dtype=np.int64)), np.empty(0, dtype=np.int64)
    indices = np.minimum(np.searchsorted(finished.steps, rows.steps), len(finished.steps) - 1)
    is_known = (finished.steps[indices] == rows.steps) & (finished.lives[indices] == rows.lives)
    return rows.take(is_known), indices[is_known]


def _phases(finished: _Rows, rows: _Rows, names: list[str]) -> dict[str, IntArray]:
    inside, indices = _events_of_finished(finished, rows)
    # clip phases to their step: they must not take time from neighboring steps
    ends_ns = (finished.starts_ns + finished.durations_ns)[indices]
    inside = inside.clipped(finished.starts_ns[indices], ends_ns)
    own_ns = exclusive_time_ns(inside.starts_ns, inside.starts_ns + inside.durations_ns)
    by_phase = {phase: np.zeros(len(finished.steps), dtype=np.int64) for phase in _PHASES}
    for number in sorted(set(inside.names.tolist()), key=lambda number: names[number]):
        is_phase = inside.names == number
        total = by_phase.setdefault(names[number], np.zeros(len(finished.steps), dtype=np.int64))
        np.add.at(total, indices[is_phase], own_ns[is_phase])
    by_phase[Phase.BETWEEN.value] += finished.durations_ns - np.sum(list(by_phase.values()), axis=0)
    return by_phase


def _device(finished: _Rows, rows: _Rows, names: list[str]) -> dict[str, FloatArray]:
    """Time on devices, summed over all of them."""
    inside, indices = _events_of_finished(finished, rows)
    by_phase: dict[str, FloatArray] = {}
    for number in sorted(set(inside.names.tolist()), key=lambda number: names[number]):
        is_phase = inside.names == number
        total = np.full(len(finished.steps), np.nan)
        total[indices[is_phase]] = 0.0
        np.add.at(total, indices[is_phase], inside.durations_ns[is_phase] / NANOSECONDS)
        by_phase[names[number]] = total
    return by_phase


def _flags(
    facts: Sequence[dict[str, Any]],
    name: str,
    details: npt.NDArray[np.int32],
    *,
    default: bool = False,
) -> BoolArray:
    """A flag of each step, given the facts of each distinct detail."""
    return np.array([bool(step_facts.get(name, default)) for step_facts in facts])[details]


def _facts(detail: str) -> dict[str, Any]:
    """The parsed detail of a step."""
    try:
        facts = json.loads(detail) if detail else {}
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}
