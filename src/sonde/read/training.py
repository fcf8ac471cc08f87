"""A summary of training: stages, steps, phases, losses and evaluations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from sonde.analyze.durations import durations_of, time_percent
from sonde.clock import NANOSECONDS, iso
from sonde.read.evaluations import read_evaluations
from sonde.read.jobs import JobFacts
from sonde.read.open_job import OpenJob
from sonde.read.profiles import WindowRecord, windows_of
from sonde.read.scalars import LOSS, Losses, ScalarQuestion, read_scalars, reduce_scalars
from sonde.read.stages import StageSpan, find_stages, read_marks
from sonde.read.steps import read_steps
from sonde.read.workers import WorkerReader
from sonde.records.documents import (
    PhasesDocument,
    ProfileDocument,
    StageDocument,
    TrainingDocument,
)
from sonde.records.evaluation import Evaluation
from sonde.records.ranges import EVER, TimeRange
from sonde.records.step import Mode, Stage
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

_RECENT_SECONDS = 300
_MAX_WORKERS = 4


@dataclass(frozen=True)
class PhaseShares:
    """Step durations and the share of each phase, over all workers."""

    steps: int
    last_step: int
    mean_seconds: float
    p50_seconds: float
    p95_seconds: float
    maximum_seconds: float
    percent: Mapping[str, float]  # of phases with any time
    profiled: int = 0  # profiled steps, which are excluded from times


@dataclass(frozen=True)
class LastLoss:
    """The last value of a loss, averaged over workers."""

    step: int
    value: float


@dataclass(frozen=True)
class Training:
    """A summary of training; all but the stages is by mode."""

    stages: tuple[StageSpan, ...] = ()
    steps: Mapping[str, int] = field(default_factory=dict)
    phases: Mapping[str, PhaseShares] = field(default_factory=dict)
    losses: Mapping[str, LastLoss] = field(default_factory=dict)
    profiles: tuple[WindowRecord, ...] = ()  # of all workers
    evaluations: tuple[Evaluation, ...] = ()

    def document(self) -> TrainingDocument:
        """The summary as plain JSON values."""
        return {
            "stages": {item.stage.value: _stage(item) for item in self.stages} or None,
            "steps": dict(self.steps),
            "phases": {mode: _shares(item) for mode, item in self.phases.items()},
            "losses": {
                mode: {"step": item.step, "value": item.value} for mode, item in self.losses.items()
            },
            "evaluations": [item.to_document() for item in self.evaluations],
            "profiles": _profiles(self.profiles),
        }


def read_training(readers: Sequence[WorkerReader], facts: JobFacts, now_ns: int) -> Training:
    """Read the complete summary."""
    marks = [read_marks(reader) for reader in readers]
    counts = {mode.value: max((item.count(mode) for item in marks), default=0) for mode in Mode}
    steps = {mode: count for mode, count in counts.items() if count}
    phases = _all_phases(readers, steps)
    profiles = tuple(item for reader in readers for item in windows_of(reader))
    stages = find_stages(facts, marks, now_ns)
    evaluations = read_evaluations(readers)
    return Training(stages, steps, phases, last_losses(readers), profiles, evaluations)


def read_recent_training(readers: Sequence[WorkerReader], facts: JobFacts, now_ns: int) -> Training:
    """Read a summary of the last minutes, which is cheap enough for polling.

    Step counts come from heartbeats and from the last recorded step.
    """
    until_ns = facts.end_ns or now_ns
    within = TimeRange(until_ns - _RECENT_SECONDS * NANOSECONDS)
    steps = reported_steps(facts)
    phases = _all_phases(readers, steps, within)
    steps |= {
        mode: max(steps[mode], phase_shares.last_step + 1) for mode, phase_shares in phases.items()
    }
    evaluations = read_evaluations(readers, within)
    return Training((), steps, phases, last_losses(readers, within), evaluations=evaluations)


def reported_steps(facts: JobFacts) -> dict[str, int]:
    """The number of completed steps by mode, from the workers' heartbeats."""
    counts: dict[str, int] = {}
    for life in facts.lives:
        for mode, count in (life.beat.steps if life.beat else {}).items():
            if count:
                counts[mode] = max(counts.get(mode, 0), count)
    return counts


def steps_done(facts: JobFacts, reader: WorkerReader) -> dict[str, int]:
    """The number of completed steps: from heartbeats, or from events if a worker was killed."""
    counts = reported_steps(facts)
    beat = reader.lives[-1].beat if reader.lives else None
    if beat is not None and (beat.is_over or not facts.state.is_over):
        return counts
    extent = reader.folder(EVENTS).extent
    if extent is None:
        return counts
    within = TimeRange(extent.last_ns - _RECENT_SECONDS * NANOSECONDS)
    for mode in Mode:
        steps = read_steps(reader, mode.value, within=within).steps
        if len(steps):
            counts[mode.value] = max(counts.get(mode.value, 0), int(steps[-1]) + 1)
    return counts


def recorded_steps(opened: OpenJob) -> dict[str, int]:
    """The number of completed steps: from heartbeats, or from events of the first workers."""
    facts = opened.facts
    counts = reported_steps(facts)
    for rank in facts.workers[:_MAX_WORKERS] if not counts.get(Mode.TRAIN.value) else ():
        for mode, count in steps_done(facts, opened.worker(int(rank))).items():
            counts[mode] = max(counts.get(mode, 0), count)
    return counts


def _all_phases(
    readers: Sequence[WorkerReader], modes: Iterable[str], within: TimeRange = EVER
) -> dict[str, PhaseShares]:
    shares = {mode: _phases(readers, mode, within) for mode in modes}
    return {mode: phase_shares for mode, phase_shares in shares.items() if phase_shares is not None}


def _phases(readers: Sequence[WorkerReader], mode: str, within: TimeRange) -> PhaseShares | None:
    tables = [read_steps(reader, mode, within=within) for reader in readers]
    durations_by_worker = [column.durations_ns[column.is_representative] for column in tables]
    durations_ns = np.concatenate([np.empty(0, np.int64), *durations_by_worker])
    if not durations_ns.any():
        return None
    durations = durations_of(durations_ns / NANOSECONDS)
    spent_ns: dict[str, list[int]] = {}
    for table in tables:
        for phase, column in table.phases_ns.items():
            spent_ns.setdefault(phase, []).append(int(column[table.is_representative].sum()))
    return PhaseShares(
        steps=max(len(table.steps) for table in tables),
        last_step=max(int(table.steps[-1]) for table in tables if len(table.steps)),
        mean_seconds=durations.mean,
        p50_seconds=durations.p50,
        p95_seconds=durations.p95,
        maximum_seconds=durations.maximum,
        percent={
            phase: time_percent(totals_ns, durations_ns)
            for phase, totals_ns in spent_ns.items()
            if any(totals_ns)
        },
        profiled=max(int(table.is_profiled.sum()) for table in tables),
    )


def last_losses(readers: Sequence[WorkerReader], within: TimeRange = EVER) -> dict[str, LastLoss]:
    """The last loss by mode, of a step that all workers have recorded.

    With several optimizers, keys are `train/0`, `train/1` for the losses `loss/0`, `loss/1`.
    Logged losses are used if the hook recorded none. A step with fewer workers than the previous
    one is considered incomplete. The last loss is the one recorded last, which may have a lower
    step in a job that was resumed from the beginning.
    """
    question = ScalarQuestion(Losses(), source="hook", within=within)
    rows = read_scalars(readers, question)
    if not rows.num_rows:
        rows = read_scalars(readers, replace(question, source=None))
    rows = reduce_scalars(rows)
    (modes, in_mode), (names, named) = texts_of(rows["mode"]), texts_of(rows["name"])
    steps, workers = to_numpy(rows["step"]), to_numpy(rows["workers"])
    values, times_ns = to_numpy(rows["value"]), to_numpy(rows["time_ns"])
    losses = {}
    for mode, name in product(range(len(modes)), np.argsort(names)):
        indices = np.flatnonzero((in_mode == mode) & (named == name))
        if len(indices):
            indices = indices[np.lexsort((steps[indices], times_ns[indices]))]
            is_whole = np.append(True, np.diff(workers[indices]) >= 0)
            last = indices[np.flatnonzero(is_whole)[-1]]
            label = f"{modes[mode]}{names[name].removeprefix(LOSS)}"
            losses[label] = LastLoss(int(steps[last]), float(values[last]))
    return losses


def _stage(span: StageSpan) -> StageDocument:
    document: StageDocument = {
        "seconds": round(span.seconds, 6),
        "percent": round(span.percent, 3),
    }
    if span.stage is Stage.TRAINING_LOOP:
        document["start_time"] = None if span.start_ns is None else iso(span.start_ns)
        document["end_time"] = None if span.end_ns is None else iso(span.end_ns)
    return document


def _shares(shares: PhaseShares) -> PhasesDocument:
    return {
        "steps": shares.steps,
        "profiled": shares.profiled,
        "seconds": {
            "mean": shares.mean_seconds,
            "p50": shares.p50_seconds,
            "p95": shares.p95_seconds,
            "maximum": shares.maximum_seconds,
        },
        "percent": {phase: round(percent, 3) for phase, percent in shares.percent.items()},
    }


def _profiles(windows: Iterable[WindowRecord]) -> list[ProfileDocument]:
    """Each window once for all workers, with its highest cost."""
    costs_by_window: dict[tuple[int, int, str, str], list[float]] = {}
    for window in windows:
        key = (window.first_step, window.last_step, window.kind, window.by)
        costs_by_window.setdefault(key, []).append(window.cost_seconds)
    return [
        {
            "kind": kind,
            "first_step": first,
            "last_step": last,
            "by": by,
            "workers": len(costs),
            "cost_seconds": max(costs),
        }
        for (first, last, kind, by), costs in sorted(costs_by_window.items())
    ]
