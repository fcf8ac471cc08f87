"""Write the steps, phases, profiling window and counters of a worker."""

import json
from collections.abc import Collection, Sequence

from sonde.importers._rows import Columns, WorkerRows
from sonde.importers._steps import EventRow, Training
from sonde.records.profile import ProfileKind
from sonde.records.step import NO_STEP, EventCategory, Mode
from sonde.store.format import EVENTS, OPERATIONS, SCALARS

_WINDOW_LANE = "profile"
_BY = "import"

Counter = tuple[str, int, float]  # name, time, value


def add_all(
    rows: WorkerRows, columns: Columns, training: Training, counters: Sequence[Counter]
) -> None:
    """Write the operations, steps, phases and counters of a recording."""
    rows.add(OPERATIONS, columns)
    _add_counters(rows, counters, training)
    add_training(rows, training)


def add_training(rows: WorkerRows, training: Training) -> None:
    """Write the steps, phases and the profiling window."""
    numbers = {step.number for step in training.steps}
    if numbers:
        rows.steps.setdefault(Mode.TRAIN.value, set()).update(numbers)
    window = window_row(rows.start_ns or 0, rows.end_ns or 0, numbers)
    events = [*training.event_rows(), window]
    rows.add_rows(EVENTS, sorted(events, key=lambda row: row[3]))


def _add_counters(rows: WorkerRows, counters: Sequence[Counter], training: Training) -> None:
    """Write counters as scalars of the current step."""
    scalars = [
        (name, time_ns, training.step_of(time_ns), Mode.TRAIN.value, value, _BY)
        for name, time_ns, value in sorted(counters, key=lambda counter: counter[1])
    ]
    rows.add_rows(SCALARS, scalars)


def window_row(start_ns: int, end_ns: int, steps: Collection[int]) -> EventRow:
    """The profiling window in which operations were recorded."""
    edges = [min(steps), max(steps)] if steps else []
    detail = json.dumps({"steps": edges, "by": _BY, "cost_seconds": 0}, separators=(",", ":"))
    return (
        *(ProfileKind.OPERATORS.value, EventCategory.WINDOW.value, _WINDOW_LANE),
        *(start_ns, end_ns - start_ns, min(steps, default=NO_STEP), Mode.TRAIN.value, detail),
    )
