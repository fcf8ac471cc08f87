"""The last steps of a worker, and where their time went."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable, read_steps
from sonde.records.ranges import StepRange
from sonde.records.step import Mode
from sonde.web.answers._answers import Address, Answers
from sonde.web.intervals import STEP, Stretches
from sonde.web.query_params import Question
from sonde.web.replies import Reply, json_reply

_MOST_STEPS = 2000
_LAST_STEP = 1 << 53
_MEDIAN_SECONDS = 10.0  # so old it may be of a job that runs
_MODES = tuple(one.value for one in Mode)


class Steps(Answers):
    """`steps`: the last steps of one worker, or those before one."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/steps", _steps),)


def _steps(question: Question) -> Reply:
    mode = question.choice("mode", _MODES)
    last = question.whole("last", 30, 1, _MOST_STEPS)
    before = question.whole("before", _LAST_STEP, 0, _LAST_STEP)
    if not question.job.facts.workers:
        return json_reply(_document(None, mode, 0, None, None))
    every = question.job.stretches(question.worker).of(STEP, mode=mode)
    numbers = np.unique(every.steps)
    shown = numbers[: int(np.searchsorted(numbers, before))][-last:].tolist()
    with question.job.worker(question.worker) as reader:
        wanted = StepRange(shown[0], shown[-1] + 1) if shown else StepRange(0, 0)
        table = read_steps(reader, mode, wanted)
    median = question.job.cached(
        ("median", question.worker, mode), _MEDIAN_SECONDS, lambda: _median(every)
    )
    return json_reply(_document(question.worker, mode, len(numbers), median, table))


def _median(steps: Stretches) -> float | None:
    lasted_ns = steps.ends_ns - steps.starts_ns
    return float(np.median(lasted_ns)) / NANOSECONDS if len(lasted_ns) else None


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
    phases = {name: (one / NANOSECONDS).tolist() for name, one in table.phases_ns.items()}
    columns = (table.steps, table.starts_ns, table.durations_ns, table.is_profiled)
    return [
        {
            "step": step,
            "start": start_ns / NANOSECONDS,
            "seconds": lasted_ns / NANOSECONDS,
            "phases": {name: one[place] for name, one in phases.items() if one[place]},
            "profiled": profiled,
        }
        for place, (step, start_ns, lasted_ns, profiled) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]
