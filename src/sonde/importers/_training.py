"""Writes what was told of a worker's training: steps, phases, the window, counters."""

import json
from collections.abc import Sequence

from sonde.importers._job import Columns, WorkerRows
from sonde.importers._steps import EventRow, Training
from sonde.records.profile import ProfileKind
from sonde.records.step import NO_STEP, EventCategory, Mode
from sonde.store.format import EVENTS, OPERATIONS, SCALARS

_WINDOW_LANE = "profile"
_BY = "import"

Counter = tuple[str, int, float]  # its name, when, how much


def add_all(
    rows: WorkerRows, columns: Columns, training: Training, counters: Sequence[Counter]
) -> None:
    """The operations of a recording, its steps and phases, its counters."""
    rows.add(OPERATIONS, columns)
    _add_counters(rows, counters, training)
    add_training(rows, training)


def add_training(rows: WorkerRows, training: Training) -> None:
    """The steps and their phases, and that all of it was recorded by a profiler."""
    numbers = {step.number for step in training.steps}
    if numbers:
        rows.steps.setdefault(Mode.TRAIN.value, set()).update(numbers)
    events = [*training.event_rows(), _window(rows, training)]
    rows.add_rows(EVENTS, sorted(events, key=lambda row: row[3]))


def _add_counters(rows: WorkerRows, counters: Sequence[Counter], training: Training) -> None:
    """Counters as scalars, each in the step that went on."""
    scalars = [
        (name, time_ns, training.step_of(time_ns), Mode.TRAIN.value, value, _BY)
        for name, time_ns, value in sorted(counters, key=lambda counter: counter[1])
    ]
    rows.add_rows(SCALARS, scalars)


def _window(rows: WorkerRows, training: Training) -> EventRow:
    start_ns, end_ns = rows.start_ns or 0, rows.end_ns or 0
    numbers = [step.number for step in training.steps]
    edges = [min(numbers), max(numbers)] if numbers else []
    detail = json.dumps({"steps": edges, "by": _BY, "cost_seconds": 0}, separators=(",", ":"))
    return (
        *(ProfileKind.OPERATORS.value, EventCategory.WINDOW.value, _WINDOW_LANE),
        *(start_ns, end_ns - start_ns, min(numbers, default=NO_STEP), Mode.TRAIN.value, detail),
    )
