"""What profilers of Python recorded about a worker, and the step and phase each time lies in."""

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError
from sonde.read.profiles import Stretches, steps_of
from sonde.read.steps import MAIN_LANE
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.profile import ProfileKind
from sonde.records.python_profile import Function, PythonProfile, PythonProfiler, PythonTimer
from sonde.records.ranges import ANY_STEP, TimeRange
from sonde.records.step import NO_STEP, EventCategory, Mode, Phase
from sonde.store import layout
from sonde.store.blobs import decode_blob, unzipped
from sonde.store.format import EVENTS
from sonde.store.tables import from_numpy, to_numpy

BEFORE = "before step 0"
_PROFILE = re.compile(rf"{ProfileKind.PYTHON.value}-(-?\d+)-\w+\.json\.gz")
_CATEGORIES = {EventCategory.STEP.value, EventCategory.PHASE.value, EventCategory.USER.value}
_COLUMNS = ("name", "category", "start_ns", "duration_ns", "step", "mode")
# a step or a phase is known by its beginning, which may lie before the window
_EARLIER_NS = 600 * NANOSECONDS


_NOT_A_PROFILE = (
    *(KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError),
)


@dataclass(frozen=True)
class Moment:
    """Where in training an instant lies."""

    mode: str
    step: int
    phase: str


_OUTSIDE = Moment(Mode.TRAIN.value, NO_STEP, Phase.BETWEEN.value)  # after the last finished step
_BEFORE_ALL = Moment(Mode.TRAIN.value, NO_STEP, BEFORE)


@dataclass(frozen=True)
class ReadProfile:
    """One window of one worker; `moments` are where its times lie, one number each."""

    worker: int
    first_step: int
    profile: PythonProfile
    moments: tuple[Moment, ...]
    times: Numbers
    steps: tuple[tuple[str, int], ...]  # modes and numbers of those that lie mostly in it
    training_steps: Numbers  # in which each time lies, also where an evaluation does


def read_python_profiles(reader: WorkerReader, damages: list[str]) -> tuple[ReadProfile, ...]:
    """Every window of Python of one worker, in order; a damaged one is left out and said."""
    folder = f"{layout.worker_folder(reader.rank)}/profiles"
    found = []
    for entry in reader.backend.entries(folder):
        match = _PROFILE.fullmatch(entry.key.rpartition("/")[2])
        if match is None:
            continue
        try:
            profile = decode_profile(reader.backend.read(entry.key), entry.key)
        except DamagedError as error:
            damages.append(str(error))
            reader.backend.ledger.report(entry.key, str(error))
            continue
        found.append(ReadProfile(reader.rank, int(match[1]), profile, *_moments(reader, profile)))
    return tuple(sorted(found, key=lambda one: one.profile.start_ns))


def decode_profile(data: bytes, key: str) -> PythonProfile:
    """The record in a blob."""
    content = decode_blob(data, key)
    try:
        body: dict[str, Any] = json.loads(unzipped(content, key))
        columns: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in body.items()
        }
        columns["functions"] = tuple(Function(*one) for one in body["functions"])
        columns["profiler"] = PythonProfiler(body["profiler"])
        columns["timer"] = PythonTimer(body["timer"])
        return PythonProfile(**columns)
    except _NOT_A_PROFILE as error:
        raise DamagedError(f"{key} does not hold a profile of Python: {error}") from error


def _moments(
    reader: WorkerReader, profile: PythonProfile
) -> tuple[tuple[Moment, ...], Numbers, tuple[tuple[str, int], ...], Numbers]:
    """Where each time of a profile lies, in the stretch that began last; and its steps."""
    rows = _stretches_in(reader, profile)
    starts_ns, steps = to_numpy(rows["start_ns"]), to_numpy(rows["step"])
    ends_ns = starts_ns + to_numpy(rows["duration_ns"])
    columns = rows.select(["mode", "step", "name", "category"]).to_pylist()
    # a phase that is as long as its step lies in it
    is_inner = np.array([row["category"] != EventCategory.STEP.value for row in columns], np.bool_)
    order = np.lexsort((is_inner, -ends_ns, starts_ns))
    known = [_moment(**columns[place]) for place in order.tolist()]
    distinct = tuple(dict.fromkeys([_OUTSIDE, _BEFORE_ALL, *known]))
    numbers = {one: number for number, one in enumerate(distinct)}
    stretches = Stretches(("",) * len(order), steps[order], starts_ns[order], ends_ns[order])
    # a look weighs as much as the time before it, so the end of a phase still belongs to it
    instants = np.array(profile.times_ns, dtype=np.int64) - 1
    places = stretches.at(instants)
    of_stretch = np.array([*(numbers[one] for one in known), 0], dtype=np.int64)
    found = of_stretch[places]
    is_early = instants < min(starts_ns[steps == 0], default=profile.start_ns)
    found[(places < 0) & is_early] = numbers[_BEFORE_ALL]
    shared_ns = np.minimum(ends_ns, profile.end_ns) - np.maximum(starts_ns, profile.start_ns)
    is_seen = ~is_inner & (2 * shared_ns >= ends_ns - starts_ns)
    seen = [columns[place] for place in np.flatnonzero(is_seen).tolist()]
    seen_steps = tuple(sorted({(row["mode"], row["step"]) for row in seen}))
    return distinct, found, seen_steps, _training_steps(reader, profile, instants)


def _training_steps(reader: WorkerReader, profile: PythonProfile, instants: Numbers) -> Numbers:
    within = TimeRange(profile.start_ns - _EARLIER_NS, profile.end_ns + 1)
    steps = steps_of(reader, within)
    return np.append(steps.steps, NO_STEP)[steps.at(instants)]


def _stretches_in(reader: WorkerReader, profile: PythonProfile) -> pa.Table:
    """The steps and phases that reach into a window."""
    within = TimeRange(profile.start_ns - _EARLIER_NS, profile.end_ns + 1)
    only = {"category": _CATEGORIES, "lane": {MAIN_LANE}}
    rows = reader.folder(EVENTS).rows(within, ANY_STEP, _COLUMNS, only)
    ends_ns = to_numpy(rows["start_ns"]) + to_numpy(rows["duration_ns"])
    return rows.take(from_numpy(np.flatnonzero(ends_ns > profile.start_ns)))


def _moment(mode: str, step: int, name: str, category: str) -> Moment:
    if category == EventCategory.STEP.value:
        return Moment(mode, step, Phase.BETWEEN.value)
    if name == Phase.EVALUATION.value and mode == Mode.TRAIN.value:
        return Moment(Mode.EVAL.value, NO_STEP, Phase.BETWEEN.value)
    return Moment(mode, step, name)
