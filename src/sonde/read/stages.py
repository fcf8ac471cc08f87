"""The stages of a job: what came before training, training itself, and what came after.

Exact: from the start of an attempt to the start of its first step, to the end of its last step, to
its end. Of several attempts the stages add up, as their durations do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.jobs import JobFacts
from sonde.read.workers import Marks, Numbers, WorkerReader
from sonde.records.step import EventCategory, Mode, Stage
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

_COLUMNS = ("mode", "step", "start_ns", "duration_ns")


@dataclass(frozen=True)
class StepMarks:
    """From when to when the steps of one worker lasted, of all its lives."""

    attempts: Numbers
    steps: Numbers
    starts_ns: Numbers
    ends_ns: Numbers
    is_mode: dict[str, Marks]

    def count(self, mode: str) -> int:
        """How many steps of a mode are done; one that was done twice counts once."""
        return len(np.unique(self.steps[self.is_mode[mode]])) if mode in self.is_mode else 0

    def of_training(self, attempt: int) -> tuple[int, int] | None:
        """When training began and ended in an attempt; without training steps, any steps."""
        here = self.attempts == attempt
        training = here & self.is_mode.get(Mode.TRAIN.value, np.zeros(len(here), dtype=np.bool_))
        chosen = training if training.any() else here
        if not chosen.any():
            return None
        return int(self.starts_ns[chosen].min()), int(self.ends_ns[chosen].max())


@dataclass(frozen=True, slots=True)
class StageSpan:
    """One stage: how long it took, its share, and when; None where it has not begun or ended."""

    stage: Stage
    seconds: float
    percent: float
    start_ns: int | None
    end_ns: int | None


def read_marks(reader: WorkerReader) -> StepMarks:
    """When the steps of a worker began and ended."""
    only = {"category": {EventCategory.STEP.value}}
    table = reader.folder(EVENTS).rows(columns=_COLUMNS, only=only)
    modes, chosen = texts_of(table["mode"])
    starts_ns = to_numpy(table["start_ns"])
    ends_ns = starts_ns + to_numpy(table["duration_ns"])
    known = [life.info.attempt for life in reader.lives] or [1]
    lives = np.maximum(reader.lives_of(ends_ns), 0)
    return StepMarks(
        np.array(known, dtype=np.int64)[lives],
        to_numpy(table["step"]),
        starts_ns,
        ends_ns,
        {mode: chosen == number for number, mode in enumerate(modes)},
    )


def find_stages(facts: JobFacts, marks: Sequence[StepMarks], now_ns: int) -> tuple[StageSpan, ...]:
    """The three stages; none where nothing trains."""
    if not facts.lives or not facts.attempts:
        return ()
    edges = [
        _edges(facts, marks, number, now_ns)
        for number in sorted({one.attempt.number for one in facts.attempts})
    ]
    spent = np.diff(np.array(edges, dtype=np.int64), axis=1).sum(axis=0)
    seconds = [float(one) / NANOSECONDS for one in spent]
    whole = sum(seconds)
    trained = [one for one in edges if one[2] > one[1]]
    is_over = facts.state.is_over
    instants = (
        (edges[0][0], trained[0][1] if trained else None),
        (trained[0][1] if trained else None, trained[-1][2] if trained and is_over else None),
        (trained[-1][2] if trained and is_over else None, edges[-1][3] if is_over else None),
    )
    return tuple(
        StageSpan(stage, lasted, 100 * lasted / whole if whole else 0.0, *instant)
        for stage, lasted, instant in zip(Stage, seconds, instants, strict=True)
    )


def _edges(
    facts: JobFacts, marks: Sequence[StepMarks], attempt: int, now_ns: int
) -> tuple[int, int, int, int]:
    """Start of an attempt, of its training, end of that, end of the attempt."""
    nodes = [one for one in facts.attempts if one.attempt.number == attempt]
    start_ns = min(one.attempt.start_ns for one in nodes)
    end_ns = max(one.end_ns(now_ns) for one in nodes)
    spans = [span for one in marks if (span := one.of_training(attempt)) is not None]
    if not spans:
        return start_ns, end_ns, end_ns, end_ns
    first_ns = min(max(min(first for first, _ in spans), start_ns), end_ns)
    last_ns = min(max(first_ns, *(last for _, last in spans)), end_ns)
    is_over = all(one.state.is_over for one in nodes) or _are_workers_over(facts, attempt)
    return start_ns, first_ns, last_ns if is_over else end_ns, end_ns


def _are_workers_over(facts: JobFacts, attempt: int) -> bool:
    """Whether every worker has said that it is through, though the command goes on."""
    beats = [one.beat for one in facts.lives if one.info.attempt == attempt]
    return bool(beats) and all(beat is not None and beat.is_over for beat in beats)
