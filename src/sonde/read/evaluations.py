"""Evaluations of a job, merged over its workers.

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
    """All evaluations of a job in order; repeated ones after a restart replace earlier ones."""
    pairs = [pair for reader in readers for pair in _of_worker(reader, within)]
    return merge_workers(pairs)


def evaluations_in(window: "Window") -> tuple[Evaluation, ...]:
    """The evaluations recorded in a window, in order."""
    return merge_workers(
        [
            (observation.worker, _evaluation(observation))
            for observation in window.observations(_KIND)
        ]
    )


def by_name(evaluations: Iterable[Evaluation]) -> Mapping[str, list[Evaluation]]:
    """Group evaluations by name, in order."""
    series: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        series.setdefault(evaluation.name, []).append(evaluation)
    return series


def merge_workers(worker_evaluations: Iterable[tuple[int, Evaluation]]) -> tuple[Evaluation, ...]:
    """Merge the results of the workers that took part in each evaluation."""
    groups: dict[tuple[str, int, int], list[Evaluation]] = {}
    counts: Counter[tuple[int, str, int]] = Counter()
    for worker, evaluation in worker_evaluations:
        repeat = counts[worker, evaluation.name, evaluation.step]
        counts[worker, evaluation.name, evaluation.step] += 1
        groups.setdefault((evaluation.name, evaluation.step, repeat), []).append(evaluation)
    merged = [_merged(group) for group in groups.values()]
    return tuple(sorted(merged, key=lambda evaluation: (evaluation.step, evaluation.time_ns)))


def _merged(evaluations: list[Evaluation]) -> Evaluation:
    first = evaluations[0]
    if (
        len(
            {
                (evaluation.samples, evaluation.batches, evaluation.batch_loss, evaluation.loss)
                for evaluation in evaluations
            }
        )
        == 1
    ):
        return first  # one worker, or all evaluated the same data
    names = {name for evaluation in evaluations for name in evaluation.metrics}
    return replace(
        first,
        samples=sum(evaluation.samples for evaluation in evaluations),
        batches=sum(evaluation.batches for evaluation in evaluations),
        loss=_mean([(evaluation.loss, evaluation.samples) for evaluation in evaluations]),
        time_ns=max(evaluation.time_ns for evaluation in evaluations),
        metrics={
            name: mean
            for name in sorted(names)
            if (
                mean := _mean(
                    [
                        (evaluation.metrics.get(name), evaluation.samples)
                        for evaluation in evaluations
                    ]
                )
            )
            is not None
        },
    )


def _mean(values: Iterable[tuple[float | None, int]]) -> float | None:
    weighted = [(value, samples or 1) for value, samples in values if value is not None]
    weight = sum(samples for _, samples in weighted)
    return sum(value * samples for value, samples in weighted) / weight if weight else None


def _of_worker(reader: WorkerReader, within: TimeRange) -> list[tuple[int, Evaluation]]:
    table = reader.folder(OBSERVATIONS).rows(within, only={"kind": (_KIND,)})
    if not table.num_rows:
        return []
    times_ns, steps = to_numpy(table["time_ns"]), to_numpy(table["step"])
    names = texts_of(table["subject"])[1].astype(np.int64)
    is_current = reader.latest(times_ns, steps, names)
    rows: list[dict[str, Any]] = table.to_pylist()
    evaluations = []
    for row, is_latest in zip(rows, is_current.tolist(), strict=True):
        if is_latest:
            values = [row[name] for name in ("time_ns", "step", "mode", "value", "detail")]
            observation = Observation(_KIND, row["subject"], reader.rank, *values)
            evaluations.append((reader.rank, _evaluation(observation)))
    return evaluations


def _evaluation(observation: Observation) -> Evaluation:
    return Evaluation.of(
        observation.subject,
        observation.value,
        (observation.step, observation.time_ns),
        observation.facts,
    )
