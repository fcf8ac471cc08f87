"""Operator profiles of workers, as input of the analysis."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow as pa

from sonde.analyze.floating_point import hides_work, is_counted, operator_flops
from sonde.analyze.operations import Operations, Phases, Profile, TextColumn
from sonde.clock import NANOSECONDS
from sonde.read.profiles import operations_of, phases_of, steps_of, windows_of
from sonde.read.workers import WorkerReader
from sonde.records.profile import OperationCategory, ProfileKind
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.store.tables import texts_of, to_numpy

_EARLY_NS = NANOSECONDS // 1000  # tolerance for the clock of a trace
_MAX_PHASE_NS = 600 * NANOSECONDS
_EMBEDDING = "aten::embedding"  # of indices; those of tokens have rows
_TEXTS = ("name", "category", "lane", "device", "module")
_NUMBERS = ("start_ns", "duration_ns", "correlation")
_CATEGORIES = frozenset(
    category.value for category in OperationCategory if category != OperationCategory.LOADING
)


def read_operator_profiles(readers: Iterable[WorkerReader]) -> tuple[Profile, ...]:
    """All operator profiles by worker; an imported trace is one profile."""
    profiles = [
        _profile(reader, within, steps) for reader in readers for within, steps in _windows(reader)
    ]
    return tuple(each for each in profiles if each.wall_ns)


@dataclass(frozen=True, slots=True)
class StepWork:
    """The work of a profiled step of one worker."""

    flops: float
    samples: float  # 0: unknown
    tokens: float


def read_step_work(reader: WorkerReader) -> StepWork | None:
    """The work of the last profiled step; None if shapes were not recorded or do not show it."""
    for within, numbers in reversed(list(_windows(reader))):
        only = {"category": _CATEGORIES}
        table = operations_of(reader, within, ("name", "detail", "start_ns"), only)
        work = _step_work(_texts(table["name"]), _texts(table["detail"]))
        if work is not None:
            first_ns, last_ns = to_numpy(table["start_ns"])[[0, -1]].tolist()
            start_ns = first_ns - _EARLY_NS if within.start_ns is None else within.start_ns
            count = max(1, len(steps_of(reader, TimeRange(start_ns, last_ns), numbers)))
            return StepWork(work.flops / count, work.samples / count, work.tokens / count)
    return None


def _step_work(names: TextColumn, details: TextColumn) -> StepWork | None:
    """Add up operators with the same name and shapes, which are few."""
    if any(hides_work(name) for name in names.distinct):
        return None
    is_shown = names.where(lambda name: is_counted(name) or name == _EMBEDDING)
    pairs = np.stack((names.numbers[is_shown], details.numbers[is_shown]))
    kinds, counts = np.unique(pairs, axis=1, return_counts=True)
    flops = samples = tokens = 0.0
    for name_number, detail_number, count in zip(*kinds.tolist(), counts.tolist(), strict=True):
        detail = details.distinct[detail_number]
        shapes = json.loads(detail).get("shapes", []) if detail else []
        flops += count * operator_flops(names.distinct[name_number], shapes)
        if names.distinct[name_number] == _EMBEDDING and len(shapes[1:2]) and len(shapes[1]) > 1:
            samples, tokens = samples + count * shapes[1][0], tokens + count * prod(shapes[1])
    return StepWork(flops, samples, tokens) if flops else None


def _windows(reader: WorkerReader) -> Iterator[tuple[TimeRange, StepRange]]:
    """Time and steps of each profile. It lasts until the next one: devices lag behind the host."""
    windows = windows_of(reader)
    for window in windows:
        if window.kind == ProfileKind.OPERATORS.value:
            later = [each.start_ns for each in windows if each.start_ns > window.start_ns]
            end_ns = later[0] - _EARLY_NS if later else None
            steps = StepRange(window.first_step, window.last_step + 1)
            yield TimeRange(window.start_ns - _EARLY_NS, end_ns), steps
    if not windows:
        yield EVER, ANY_STEP


def _profile(reader: WorkerReader, within: TimeRange, numbers: StepRange) -> Profile:
    only = {"category": _CATEGORIES}
    table = operations_of(reader, within, (*_TEXTS, *_NUMBERS, "detail"), only)
    operations = _operations(table)
    work = _step_work(operations.names, _texts(table["detail"]))
    bare = Profile(reader.rank, operations)
    if not bare.wall_ns:
        return bare
    phases = phases_of(reader, TimeRange(bare.start_ns - _MAX_PHASE_NS, bare.end_ns))
    # a step begins with its window; its first operator may come later, after a data wait
    start_ns = within.start_ns if within.start_ns is not None else bare.start_ns - _EARLY_NS
    steps = steps_of(reader, TimeRange(start_ns, bare.end_ns), numbers)
    return Profile(
        reader.rank,
        operations,
        Phases(phases.names, phases.starts_ns, phases.ends_ns),
        len(steps),
        work.flops / max(1, len(steps)) if work is not None else None,
    )


def _operations(table: pa.Table) -> Operations:
    names, categories, lanes, devices, modules = (_texts(table[name]) for name in _TEXTS)
    starts_ns, durations_ns, correlations = (to_numpy(table[name]) for name in _NUMBERS)
    return Operations(
        names, categories, lanes, devices, modules, starts_ns, durations_ns, correlations
    )


def _texts(column: pa.ChunkedArray) -> TextColumn:
    distinct, numbers = texts_of(column)
    return TextColumn(tuple(distinct), numbers.astype("int64"))
