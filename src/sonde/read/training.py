"""What training has done so far, in a few numbers: stages, steps, phases, losses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS, iso
from sonde.read.evaluations import read_evaluations
from sonde.read.jobs import JobFacts
from sonde.read.profiles import WindowRecord, windows_of
from sonde.read.scalars import LOSS, Losses, ScalarQuestion, read_scalars, reduce_scalars
from sonde.read.stages import StageSpan, find_stages, read_marks
from sonde.read.steps import read_steps
from sonde.read.workers import WorkerReader
from sonde.records.evaluation import Evaluation
from sonde.records.ranges import EVER, TimeRange
from sonde.records.step import Mode, Stage
from sonde.store.backends import Backend
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

_RECENT_SECONDS = 300
_FEW_WORKERS = 4


@dataclass(frozen=True)
class PhaseShares:
    """Where the time of steps goes, over all workers: shares that add up to the step."""

    steps: int
    last_step: int
    mean_seconds: float
    p50_seconds: float
    p95_seconds: float
    maximum_seconds: float
    percent: Mapping[str, float]  # phases that took any time
    profiled: int = 0  # steps in which a profiler was at work: they count, their times do not


@dataclass(frozen=True)
class LastLoss:
    """The last value of a loss, its mean over the workers."""

    step: int
    value: float


@dataclass(frozen=True)
class Training:
    """Everything by mode, but the stages."""

    stages: tuple[StageSpan, ...] = ()
    steps: Mapping[str, int] = field(default_factory=dict)
    phases: Mapping[str, PhaseShares] = field(default_factory=dict)
    losses: Mapping[str, LastLoss] = field(default_factory=dict)
    profiles: tuple[WindowRecord, ...] = ()  # of all workers
    evaluations: tuple[Evaluation, ...] = ()

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "stages": {one.stage.value: _stage(one) for one in self.stages} or None,
            "steps": dict(self.steps),
            "phases": {mode: _shares(one) for mode, one in self.phases.items()},
            "losses": {
                mode: {"step": one.step, "value": one.value} for mode, one in self.losses.items()
            },
            "evaluations": [one.to_document() for one in self.evaluations],
            "profiles": _profiles(self.profiles),
        }


def read_training(readers: Sequence[WorkerReader], facts: JobFacts, now_ns: int) -> Training:
    """All of it, exactly."""
    marks = [read_marks(reader) for reader in readers]
    counts = {mode.value: max((one.count(mode) for one in marks), default=0) for mode in Mode}
    steps = {mode: count for mode, count in counts.items() if count}
    phases = _all_phases(readers, steps)
    profiles = tuple(one for reader in readers for one in windows_of(reader))
    stages = find_stages(facts, marks, now_ns)
    evaluations = read_evaluations(readers)
    return Training(stages, steps, phases, last_losses(readers), profiles, evaluations)


def read_recent_training(readers: Sequence[WorkerReader], facts: JobFacts, now_ns: int) -> Training:
    """What is quick to read again and again: phases and losses of the last steps.

    How many steps there are is told by the workers, seldom, and by the last step that they wrote.
    """
    until_ns = facts.end_ns or now_ns
    within = TimeRange(until_ns - _RECENT_SECONDS * NANOSECONDS)
    steps = steps_told(facts)
    phases = _all_phases(readers, steps, within)
    steps |= {mode: max(steps[mode], one.last_step + 1) for mode, one in phases.items()}
    evaluations = read_evaluations(readers, within)
    return Training((), steps, phases, last_losses(readers, within), evaluations=evaluations)


def steps_told(facts: JobFacts) -> dict[str, int]:
    """How many steps are done, as the workers tell with every sign of life."""
    found: dict[str, int] = {}
    for one in facts.lives:
        for mode, count in (one.beat.steps if one.beat else {}).items():
            if count:
                found[mode] = max(found.get(mode, 0), count)
    return found


def steps_done(facts: JobFacts, reader: WorkerReader) -> dict[str, int]:
    """As the workers tell; where one was killed, or has told nothing yet, as it wrote them."""
    found = steps_told(facts)
    beat = reader.lives[-1].beat if reader.lives else None
    if beat is not None and (beat.is_over or not facts.state.is_over):
        return found
    extent = reader.folder(EVENTS).extent
    if extent is None:
        return found
    within = TimeRange(extent.last_ns - _RECENT_SECONDS * NANOSECONDS)
    for mode in Mode:
        steps = read_steps(reader, mode.value, within=within).steps
        if len(steps):
            found[mode.value] = max(found.get(mode.value, 0), int(steps[-1]) + 1)
    return found


def steps_seen(backend: Backend, facts: JobFacts) -> dict[str, int]:
    """As the workers tell; where none tells of training, as the first of them wrote their steps."""
    found = steps_told(facts)
    for rank in facts.workers[:_FEW_WORKERS] if not found.get(Mode.TRAIN.value) else ():
        for mode, count in steps_done(facts, WorkerReader(backend, int(rank), facts.lives)).items():
            found[mode] = max(found.get(mode, 0), count)
    return found


def _all_phases(
    readers: Sequence[WorkerReader], modes: Iterable[str], within: TimeRange = EVER
) -> dict[str, PhaseShares]:
    shares = {mode: _phases(readers, mode, within) for mode in modes}
    return {mode: one for mode, one in shares.items() if one is not None}


def _phases(readers: Sequence[WorkerReader], mode: str, within: TimeRange) -> PhaseShares | None:
    tables = [read_steps(reader, mode, within=within) for reader in readers]
    usual = [one.durations_ns[one.is_usual] for one in tables]
    durations = np.concatenate([np.empty(0, np.int64), *usual])
    whole = float(durations.sum())
    if not whole:
        return None
    spent: dict[str, float] = {}
    for table in tables:
        for phase, one in table.phases_ns.items():
            spent[phase] = spent.get(phase, 0.0) + float(one[table.is_usual].sum())
    p50, p95 = np.percentile(durations, (50, 95)) / NANOSECONDS
    return PhaseShares(
        steps=max(len(table.steps) for table in tables),
        last_step=max(int(table.steps[-1]) for table in tables if len(table.steps)),
        mean_seconds=float(durations.mean()) / NANOSECONDS,
        p50_seconds=float(p50),
        p95_seconds=float(p95),
        maximum_seconds=float(durations.max()) / NANOSECONDS,
        percent={phase: 100 * one / whole for phase, one in spent.items() if one},
        profiled=max(int(table.is_profiled.sum()) for table in tables),
    )


def last_losses(readers: Sequence[WorkerReader], within: TimeRange = EVER) -> dict[str, LastLoss]:
    """Per mode the last value of the loss, of a step that all workers have recorded.

    With several optimizers it is `train/0`, `train/1`, as the losses are `loss/0`, `loss/1`. What
    was logged as a loss counts where no hook has seen one. A step with fewer workers than the one
    before is taken for one that some have yet to record. A job that was resumed from its beginning
    has not come as far again as it was before: its last loss is the one that was recorded last.
    """
    question = ScalarQuestion(Losses(), source="hook", within=within)
    rows = read_scalars(readers, question)
    if not rows.num_rows:
        rows = read_scalars(readers, replace(question, source=None))
    rows = reduce_scalars(rows)
    (modes, in_mode), (names, named) = texts_of(rows["mode"]), texts_of(rows["name"])
    steps, workers = to_numpy(rows["step"]), to_numpy(rows["workers"])
    values, times_ns = to_numpy(rows["value"]), to_numpy(rows["time_ns"])
    found = {}
    for mode, name in product(range(len(modes)), np.argsort(names)):
        mine = np.flatnonzero((in_mode == mode) & (named == name))
        if len(mine):
            mine = mine[np.lexsort((steps[mine], times_ns[mine]))]
            is_whole = np.append(True, np.diff(workers[mine]) >= 0)
            last = mine[np.flatnonzero(is_whole)[-1]]
            label = f"{modes[mode]}{names[name].removeprefix(LOSS)}"
            found[label] = LastLoss(int(steps[last]), float(values[last]))
    return found


def _stage(span: StageSpan) -> dict[str, Any]:
    document: dict[str, Any] = {
        "seconds": round(span.seconds, 6),
        "percent": round(span.percent, 3),
    }
    if span.stage is Stage.TRAINING_LOOP:
        document["start_time"] = None if span.start_ns is None else iso(span.start_ns)
        document["end_time"] = None if span.end_ns is None else iso(span.end_ns)
    return document


def _shares(shares: PhaseShares) -> dict[str, Any]:
    return {
        "steps": shares.steps,
        "profiled": shares.profiled,
        "seconds": {
            "mean": shares.mean_seconds,
            "p50": shares.p50_seconds,
            "p95": shares.p95_seconds,
            "maximum": shares.maximum_seconds,
        },
        "percent": {phase: round(one, 3) for phase, one in shares.percent.items()},
    }


def _profiles(windows: Iterable[WindowRecord]) -> list[dict[str, Any]]:
    """Each window once, however many workers had it; its cost where that was highest."""
    found: dict[tuple[int, int, str, str], list[float]] = {}
    for one in windows:
        same = (one.first_step, one.last_step, one.kind, one.by)
        found.setdefault(same, []).append(one.cost_seconds)
    return [
        {
            "kind": kind,
            "first_step": first,
            "last_step": last,
            "by": by,
            "workers": len(costs),
            "cost_seconds": max(costs),
        }
        for (first, last, kind, by), costs in sorted(found.items())
    ]
