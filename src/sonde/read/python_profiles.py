"""Python profiles of a worker, with the step and phase of each sample."""

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError
from sonde.read.profiles import Intervals, steps_of
from sonde.read.steps import MAIN_LANE
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
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
# events are found by their start, which may be before the window
_EARLIER_NS = 600 * NANOSECONDS


_NOT_A_PROFILE = (
    *(KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError),
)


@dataclass(frozen=True)
class Moment:
    """The mode, step and phase of an instant."""

    mode: str
    step: int
    phase: str


_OUTSIDE = Moment(Mode.TRAIN.value, NO_STEP, Phase.BETWEEN.value)  # after the last finished step
_BEFORE_ALL = Moment(Mode.TRAIN.value, NO_STEP, BEFORE)


@dataclass(frozen=True)
class ReadProfile:
    """One window of one worker; `times` holds the index into `moments` of each sample."""

    worker: int
    first_step: int
    profile: PythonProfile
    moments: tuple[Moment, ...]
    times: IntArray
    steps: tuple[tuple[str, int], ...]  # mode and number of the steps mostly inside the window
    training_steps: IntArray  # of each sample, also during evaluations


def read_python_profiles(reader: WorkerReader, damages: list[str]) -> tuple[ReadProfile, ...]:
    """All Python windows of one worker, in order; damaged ones are skipped and reported."""
    folder = f"{layout.worker_folder(reader.rank)}/profiles"
    profiles = []
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
        profiles.append(
            ReadProfile(reader.rank, int(match[1]), profile, *_moments(reader, profile))
        )
    return tuple(sorted(profiles, key=lambda window: window.profile.start_ns))


def decode_profile(data: bytes, key: str) -> PythonProfile:
    """Decode the profile in a blob."""
    content = decode_blob(data, key)
    try:
        body: dict[str, Any] = json.loads(unzipped(content, key))
        columns: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in body.items()
        }
        columns["functions"] = tuple(Function(*value) for value in body["functions"])
        columns["profiler"] = PythonProfiler(body["profiler"])
        columns["timer"] = PythonTimer(body["timer"])
        return PythonProfile(**columns)
    except _NOT_A_PROFILE as error:
        raise DamagedError(f"{key} is not a Python profile: {error}") from error


def _moments(
    reader: WorkerReader, profile: PythonProfile
) -> tuple[tuple[Moment, ...], IntArray, tuple[tuple[str, int], ...], IntArray]:
    """The moment of each sample, the steps of the window, and the training step of each sample."""
    rows = _events_in(reader, profile)
    starts_ns, steps = to_numpy(rows["start_ns"]), to_numpy(rows["step"])
    ends_ns = starts_ns + to_numpy(rows["duration_ns"])
    columns = rows.select(["mode", "step", "name", "category"]).to_pylist()
    # a phase as long as its step is inside the step
    is_inner = np.array([row["category"] != EventCategory.STEP.value for row in columns], np.bool_)
    order = np.lexsort((is_inner, -ends_ns, starts_ns))
    moments = [_moment(**columns[row_index]) for row_index in order.tolist()]
    distinct = tuple(dict.fromkeys([_OUTSIDE, _BEFORE_ALL, *moments]))
    numbers = {moment: number for number, moment in enumerate(distinct)}
    intervals = Intervals(("",) * len(order), steps[order], starts_ns[order], ends_ns[order])
    # a sample represents the time before it, so the end of a phase still belongs to the phase
    instants = np.array(profile.times_ns, dtype=np.int64) - 1
    indices = intervals.at(instants)
    moment_by_interval = np.array([*(numbers[moment] for moment in moments), 0], dtype=np.int64)
    moment_indices = moment_by_interval[indices]
    is_early = instants < min(starts_ns[steps == 0], default=profile.start_ns)
    moment_indices[(indices < 0) & is_early] = numbers[_BEFORE_ALL]
    shared_ns = np.minimum(ends_ns, profile.end_ns) - np.maximum(starts_ns, profile.start_ns)
    is_seen = ~is_inner & (2 * shared_ns >= ends_ns - starts_ns)
    step_rows = [columns[row_index] for row_index in np.flatnonzero(is_seen).tolist()]
    covered_steps = tuple(sorted({(row["mode"], row["step"]) for row in step_rows}))
    return distinct, moment_indices, covered_steps, _training_steps(reader, profile, instants)


def _training_steps(reader: WorkerReader, profile: PythonProfile, instants: IntArray) -> IntArray:
    within = TimeRange(profile.start_ns - _EARLIER_NS, profile.end_ns + 1)
    steps = steps_of(reader, within)
    return np.append(steps.steps, NO_STEP)[steps.at(instants)]


def _events_in(reader: WorkerReader, profile: PythonProfile) -> pa.Table:
    """The steps and phases that overlap a window."""
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
