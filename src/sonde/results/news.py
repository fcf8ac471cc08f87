"""New data of a running job, and thresholds to wait for."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.formats import pluralize
from sonde.read.findings import EpisodesReader
from sonde.read.new_rows import NewRows
from sonde.read.workers import WorkerReader
from sonde.records.job import JobState
from sonde.records.step import EventCategory
from sonde.results.findings import Findings
from sonde.results.tables import TIME
from sonde.store.backends import Backend
from sonde.store.format import EVENTS, SCALARS
from sonde.store.tables import from_numpy, from_texts, to_numpy

_STEPS: Final = ("category", "mode", "step", "start_ns", "duration_ns")
_SCALARS: Final = ("name", "mode", "step", "time_ns", "value")
_CONDITION = re.compile(r"\s*(\S+)\s*(<=|>=|==|<|>)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


@dataclass(frozen=True)
class News:
    """Data since the previous poll."""

    state: JobState
    steps: pa.Table  # finished steps: worker, mode, step, time, seconds
    scalars: pa.Table  # worker, name, mode, step, time, value
    findings: Findings  # new and continued findings

    def __bool__(self) -> bool:
        return bool(self.steps.num_rows or self.scalars.num_rows or len(self.findings))

    def __repr__(self) -> str:
        texts = [self.state.value]
        if self.steps.num_rows:
            last = int(np.max(to_numpy(self.steps["step"])))
            texts.append(f"{pluralize(self.steps.num_rows, 'step')}, up to {last}")
        latest = {row["name"]: row["value"] for row in self.scalars.to_pylist()}
        texts += [f"{name} {value:.4g}" for name, value in list(latest.items())[:3]]
        texts += [
            f"{finding.severity.value}: {finding.finding.message}" for finding in self.findings
        ]
        return "; ".join(texts)


class Reporter:
    """Reports new data of a job, and remembers what it has reported."""

    def __init__(self, backend: Backend) -> None:
        self._episodes = EpisodesReader(backend)
        self._reported: dict[str, object] = {}
        self._steps: dict[int, NewRows] = {}
        self._scalars: dict[int, NewRows] = {}

    def poll(self, state: JobState, readers: tuple[WorkerReader, ...]) -> News:
        """Data since the previous call; refresh the readers first."""
        steps, scalars = [], []
        for reader in readers:
            rank = reader.rank
            if rank not in self._steps:
                self._steps[rank] = NewRows(reader.folder(EVENTS), _STEPS)
                self._scalars[rank] = NewRows(reader.folder(SCALARS), _SCALARS)
            steps += [_steps_of(rows, rank) for rows in self._steps[rank].poll()]
            scalars += [_scalars_of(rows, rank) for rows in self._scalars[rank].poll()]
        changed = [each for each in self._episodes.read() if self._reported.get(each.id) != each]
        self._reported.update({each.id: each for each in changed})
        return News(
            state,
            pa.concat_tables([_NO_STEPS, *steps]),
            pa.concat_tables([_NO_SCALARS, *scalars]),
            Findings(tuple(changed)),
        )


@dataclass(frozen=True)
class Threshold:
    """A condition on a metric or scalar: `loss < 0.3`."""

    name: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Parse a text such as `gpu.memory_used_percent > 90`."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise UsageError(f"Invalid condition {text!r}. Example: loss < 0.3")
        return cls(match[1], match[2], float(match[3]))

    def holds(self, value: float) -> bool:
        """Whether a value meets the condition; NaN never does."""
        return _COMPARED[self.sign](value, self.limit)


def _steps_of(rows: pa.Table, rank: int) -> pa.Table:
    is_step = [each == EventCategory.STEP.value for each in rows["category"].to_pylist()]
    rows = rows.take(from_numpy(np.flatnonzero(np.array(is_step, dtype=np.bool_))))
    return pa.table(
        {
            "worker": from_numpy(np.full(rows.num_rows, rank, dtype=np.int64)),
            "mode": rows["mode"].cast(pa.string()),
            "step": rows["step"],
            "time": rows["start_ns"].cast(TIME),
            "seconds": from_numpy(to_numpy(rows["duration_ns"]) / NANOSECONDS),
        }
    )


def _scalars_of(rows: pa.Table, rank: int) -> pa.Table:
    return pa.table(
        {
            "worker": from_numpy(np.full(rows.num_rows, rank, dtype=np.int64)),
            "name": rows["name"].cast(pa.string()),
            "mode": rows["mode"].cast(pa.string()),
            "step": rows["step"],
            "time": rows["time_ns"].cast(TIME),
            "value": rows["value"],
        }
    )


def _empty(*, has_name: bool, value: str) -> pa.Table:
    """An empty table with all columns."""
    numbers = from_numpy(np.empty(0, dtype=np.int64))
    texts = from_texts([])
    name_column = {"name": texts} if has_name else {}
    time_columns = {"mode": texts, "step": numbers, "time": numbers.cast(TIME)}
    return pa.table(
        {"worker": numbers, **name_column, **time_columns, value: from_numpy(np.empty(0))}
    )


_NO_STEPS = _empty(has_name=False, value="seconds")
_NO_SCALARS = _empty(has_name=True, value="value")


def empty_news(state: JobState) -> News:
    """News without data."""
    return News(state, _NO_STEPS, _NO_SCALARS, Findings(()))
