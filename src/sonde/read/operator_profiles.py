"""Operator profiles of workers, as input of the analysis."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from sonde.analyze.operations import Operations, Phases, Profile, TextColumn
from sonde.clock import NANOSECONDS
from sonde.read.profiles import operations_of, phases_of, steps_of, windows_of
from sonde.read.workers import WorkerReader
from sonde.records.profile import OperationCategory, ProfileKind
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.store.tables import texts_of, to_numpy

_EARLY_NS = NANOSECONDS // 1000  # tolerance for the clock of a trace
_MAX_PHASE_NS = 600 * NANOSECONDS
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
    operations = _operations(operations_of(reader, within, (*_TEXTS, *_NUMBERS), only))
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
