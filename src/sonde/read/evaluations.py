"""Evaluations of a job: one named result each, put together from its workers.

A rule adds `EVALUATIONS` to its `needs` and calls `evaluations_in(window)`: the evaluations that
were recorded in the window, in order. Each has a `name` (its series), the training `step` at which
it ran, the mean `loss` over its `samples`, and `is_training_data` where the evaluated data set also
feeds training. `first_eval_step` and `last_eval_step` lead to its single batches: losses and
observations of mode `eval` with these steps.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.read.job_data import Observation
from sonde.read.workers import WorkerReader
from sonde.records.evaluation import Evaluation
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.ranges import EVER, TimeRange
from sonde.store.format import OBSERVATIONS
from sonde.store.tables import texts_of, to_numpy

if TYPE_CHECKING:
    from sonde.read.window import Window

_KIND = ObservationKind.EVALUATION.value

EVALUATIONS = Observations(_KIND)


def read_evaluations(
    readers: Sequence[WorkerReader], within: TimeRange = EVER
) -> tuple[Evaluation, ...]:
    """All evaluations of a job in order; of what was done again after a restart, the last."""
    parts = [one for reader in readers for one in _of_worker(reader, within)]
    return merge_workers(parts)


def evaluations_in(window: "Window") -> tuple[Evaluation, ...]:
    """The evaluations that were recorded in a window, in order."""
    return merge_workers([(one.worker, _evaluation(one)) for one in window.observations(_KIND)])


def by_name(evaluations: Iterable[Evaluation]) -> Mapping[str, list[Evaluation]]:
    """The series of evaluations, each in order."""
    found: dict[str, list[Evaluation]] = {}
    for one in evaluations:
        found.setdefault(one.name, []).append(one)
    return found


def merge_workers(parts: Iterable[tuple[int, Evaluation]]) -> tuple[Evaluation, ...]:
    """One result per evaluation, from those of the workers that took part."""
    groups: dict[tuple[str, int, int], list[Evaluation]] = {}
    seen: Counter[tuple[int, str, int]] = Counter()
    for worker, one in parts:
        repeat = seen[worker, one.name, one.step]
        seen[worker, one.name, one.step] += 1
        groups.setdefault((one.name, one.step, repeat), []).append(one)
    merged = [_merged(group) for group in groups.values()]
    return tuple(sorted(merged, key=lambda one: (one.step, one.time_ns)))


def _merged(parts: list[Evaluation]) -> Evaluation:
    first = parts[0]
    if len({(one.samples, one.batches, one.batch_loss, one.loss) for one in parts}) == 1:
        return first  # one worker, or all of them evaluated the same data
    names = {name for one in parts for name in one.metrics}
    return replace(
        first,
        samples=sum(one.samples for one in parts),
        batches=sum(one.batches for one in parts),
        loss=_mean([(one.loss, one.samples) for one in parts]),
        time_ns=max(one.time_ns for one in parts),
        metrics={
            name: mean
            for name in sorted(names)
            if (mean := _mean([(one.metrics.get(name), one.samples) for one in parts])) is not None
        },
    )


def _mean(values: Iterable[tuple[float | None, int]]) -> float | None:
    known = [(value, samples or 1) for value, samples in values if value is not None]
    weight = sum(samples for _, samples in known)
    return sum(value * samples for value, samples in known) / weight if weight else None


def _of_worker(reader: WorkerReader, within: TimeRange) -> list[tuple[int, Evaluation]]:
    table = reader.folder(OBSERVATIONS).rows(within, only={"kind": (_KIND,)})
    if not table.num_rows:
        return []
    times_ns, steps = to_numpy(table["time_ns"]), to_numpy(table["step"])
    names = texts_of(table["subject"])[1].astype(np.int64)
    stands = reader.latest(times_ns, steps, names)
    rows: list[dict[str, Any]] = table.to_pylist()
    found = []
    for row, is_latest in zip(rows, stands.tolist(), strict=True):
        if is_latest:
            values = [row[name] for name in ("time_ns", "step", "mode", "value", "detail")]
            one = Observation(_KIND, row["subject"], reader.rank, *values)
            found.append((reader.rank, _evaluation(one)))
    return found


def _evaluation(one: Observation) -> Evaluation:
    return Evaluation.of(one.subject, one.value, (one.step, one.time_ns), one.facts)
