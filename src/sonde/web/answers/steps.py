"""The last steps of a worker and the time of their phases."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.analyze.durations import durations_of
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable, read_step_seconds, read_steps
from sonde.records.ranges import StepRange
from sonde.records.step import Mode
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.intervals import STEP
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply

_MAX_STEPS = 2000
_LAST_STEP = 1 << 53
_MEDIAN_SECONDS = 10.0  # how long the median of a running job is reused
_MODES = tuple(mode.value for mode in Mode)


class Steps(EndpointGroup):
    """`steps`: the last steps of a worker, or the last ones before a given step."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/steps", _steps),)


def _steps(query: Query) -> Reply:
    mode = query.choice("mode", _MODES)
    last = query.integer("last", 30, 1, _MAX_STEPS)
    before = query.integer("before", _LAST_STEP, 0, _LAST_STEP)
    if not query.job.facts.workers:
        return json_reply(_document(None, mode, 0, None, None))
    events = query.job.intervals(query.worker).of(STEP, mode=mode)
    numbers = np.unique(events.steps)
    shown = numbers[: int(np.searchsorted(numbers, before))][-last:].tolist()
    with query.job.worker(query.worker) as reader:
        step_range = StepRange(shown[0], shown[-1] + 1) if shown else StepRange(0, 0)
        table = read_steps(reader, mode, step_range)
    median = query.job.cached(
        ("median", query.worker, mode), _MEDIAN_SECONDS, lambda: _median(query, mode)
    )
    return json_reply(_document(query.worker, mode, len(numbers), median, table))


def _median(query: Query, mode: str) -> float | None:
    """The median step duration of the job; profiled steps are excluded."""
    with query.job.worker(query.worker) as reader:
        durations = durations_of(read_step_seconds(reader, mode))
    return durations.p50 if durations.count else None


def _document(
    worker: int | None, mode: str, total: int, median: float | None, shown: StepTable | None
) -> dict[str, Any]:
    return {
        "worker": worker,
        "mode": mode,
        "total": total,
        "median_seconds": median,
        "steps": [] if shown is None else _rows(shown),
    }


def _rows(table: StepTable) -> list[dict[str, Any]]:
    phases = {name: (times_ns / NANOSECONDS).tolist() for name, times_ns in table.phases_ns.items()}
    columns = (table.steps, table.starts_ns, table.durations_ns, table.is_profiled)
    return [
        {
            "step": step,
            "start": start_ns / NANOSECONDS,
            "seconds": lasted_ns / NANOSECONDS,
            "phases": {name: seconds[index] for name, seconds in phases.items() if seconds[index]},
            "profiled": profiled,
        }
        for index, (step, start_ns, lasted_ns, profiled) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]
